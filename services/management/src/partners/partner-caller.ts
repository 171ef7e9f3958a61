import { linkVisibility, type ProgramRecord } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { LinkCaller, LinkDeps } from '../links/link-deps.js';
import type { PartnersScope } from './partner-object.js';

/** The workspace and API key of a request, and the workspace's program. */
export interface PartnerCaller extends LinkCaller {
  readonly program: ProgramRecord;
}

/**
 * The caller with the program of its workspace. A workspace that is older than programs gets one.
 *
 * @throws ApiError not_found
 */
export async function partnerCaller({ catalog }: LinkDeps, caller: LinkCaller): Promise<PartnerCaller> {
  const { apiKey } = caller;
  const isOlder = caller.workspace.defaultProgramId === null;
  const workspace = isOlder ? await catalog.workspaces.withProgram(caller.workspace.id) : caller.workspace;
  const program = await catalog.programs.get(workspace.id, workspace.defaultProgramId ?? '');
  if (program === undefined) throw new ApiError('not_found', 'Program not found.');
  return { workspace, apiKey, program };
}

/** The partners that the caller may see, and whether links in hidden folders are left out. */
export async function partnersScope(
  { catalog }: LinkDeps,
  { workspace, apiKey, program }: PartnerCaller,
): Promise<PartnersScope> {
  const hidesFolders = await catalog.hiddenFolders.anyFor(workspace.id, linkVisibility(apiKey));
  return { workspaceId: workspace.id, programId: program.id, hidesFolders };
}
