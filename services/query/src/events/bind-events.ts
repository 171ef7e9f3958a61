import type { Catalog, KeyCaller } from '@waymark/catalog';
import { type BoundRequest, bind, checkDateRange, type ParsedRequest } from '@waymark/event-query';
import { type Caller, callerOf, findReferences } from './find-references.js';

/** A request for events, ready to be planned. */
export interface BoundEvents {
  readonly caller: Caller;
  readonly bound: BoundRequest;
}

/**
 * Checks the range of a request against the plan of its workspace, looks up what the request refers to, and binds it.
 *
 * @throws ApiError 403 for a range or folder that the caller must not read, 404 for a link or folder that does not exist
 */
export async function bindEvents(catalog: Catalog, requester: KeyCaller, parsed: ParsedRequest): Promise<BoundEvents> {
  const { workspace } = requester;
  checkDateRange(workspace, parsed.range);
  const caller = callerOf(requester);
  const references = await findReferences(catalog, caller, parsed);
  const bound = bind(parsed, { workspaceId: workspace.id, programId: workspace.defaultProgramId, ...references });
  return { caller, bound };
}
