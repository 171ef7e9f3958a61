import type { ProgramRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkCaller, LinkParts } from '../links/link-parts.js';

/** Whose request it is, and the program it is about. */
export interface PartnerCaller extends LinkCaller {
  readonly program: ProgramRecord;
}

/**
 * The caller with the program of its workspace; a workspace of before there were programs gets one.
 *
 * @throws ApiError not_found
 */
export async function partnerCaller({ catalog }: LinkParts, caller: LinkCaller): Promise<PartnerCaller> {
  const { apiKey } = caller;
  const isOlder = caller.workspace.defaultProgramId === null;
  const workspace = isOlder ? await catalog.workspaces.withProgram(caller.workspace.id) : caller.workspace;
  const program = await catalog.programs.get(workspace.id, workspace.defaultProgramId ?? '');
  if (program === undefined) throw new ApiError('not_found', 'Program not found.');
  return { workspace, apiKey, program };
}
