import { type KeyCaller, linkVisibility, type ProgramRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkDeps } from '../links/link-deps.js';
import type { PartnersScope } from './partner-object.js';

/** The workspace and API key of a request, and the workspace's program. */
export interface PartnerCaller extends KeyCaller {
  readonly program: ProgramRecord;
}

/**
 * Adds the partner program of the workspace to the caller. Creates the program of a workspace that is older than programs.
 *
 * @throws ApiError not_found
 */
export async function partnerCaller({ catalog }: LinkDeps, caller: KeyCaller): Promise<PartnerCaller> {
  const { apiKey } = caller;
  const lacksProgram = caller.workspace.defaultProgramId === null;
  const workspace = lacksProgram ? await catalog.workspaces.withProgram(caller.workspace.id) : caller.workspace;
  const program = await catalog.programs.get(workspace.id, workspace.defaultProgramId ?? '');
  if (program === undefined) throw new ApiError('not_found', 'Program not found.');
  return { workspace, apiKey, program };
}

/** Where to read the caller's partners, and whether their totals and links leave out hidden folders. */
export async function partnersScope(
  { catalog }: LinkDeps,
  { workspace, apiKey, program }: PartnerCaller,
): Promise<PartnersScope> {
  const hidesFolders = await catalog.hiddenFolders.anyFor(workspace.id, linkVisibility(apiKey));
  return { workspaceId: workspace.id, programId: program.id, hidesFolders };
}
