import { linkSight, type ProgramRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkCaller, LinkParts } from '../links/link-parts.js';
import type { PartnersScope } from './partner-object.js';

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

/** Whose partners the caller sees, and how much of them. */
export async function partnersScope(
  { catalog }: LinkParts,
  { workspace, apiKey, program }: PartnerCaller,
): Promise<PartnersScope> {
  const hidesFolders = await catalog.hiddenFolders.anyFor(workspace.id, linkSight(apiKey));
  return { workspaceId: workspace.id, programId: program.id, hidesFolders };
}
