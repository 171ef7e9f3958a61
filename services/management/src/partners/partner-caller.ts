import type { ProgramRecord, WorkspaceRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkCaller, LinkParts } from '../links/link-parts.js';

/** Whose request it is, and the program it is about. */
export interface PartnerCaller extends LinkCaller {
  readonly program: ProgramRecord;
}

/** The program of a workspace. @throws ApiError not_found */
async function programOf({ catalog }: LinkParts, workspace: WorkspaceRecord): Promise<ProgramRecord> {
  const { id, defaultProgramId } = workspace;
  const program = defaultProgramId === null ? undefined : await catalog.programs.get(id, defaultProgramId);
  if (program === undefined) throw new ApiError('not_found', 'Program not found.');
  return program;
}

/** The caller with its program. @throws ApiError not_found */
export async function partnerCaller(parts: LinkParts, { workspace, apiKey }: LinkCaller): Promise<PartnerCaller> {
  return { workspace, apiKey, program: await programOf(parts, workspace) };
}
