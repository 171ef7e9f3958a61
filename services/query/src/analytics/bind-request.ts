import type { Catalog, KeyCaller } from '@waymark/catalog';
import { type AnalyticsQuery, ApiError } from '@waymark/contract';
import { type BoundAnalytics, bindAnalytics, checkDateRange, parseAnalytics } from '@waymark/event-query';
import { callerOf, findReferences } from '../events/find-references.js';
import { analyticsClock } from './analytics-clock.js';

/** Refuses a program other than the workspace's own, whereas `GET /events` returns an empty list for it. */
function checkProgram(programId: string | undefined, ownProgramId: string | null): void {
  if (programId === undefined || programId === ownProgramId) return;
  throw new ApiError('forbidden', 'The program does not belong to this workspace.');
}

/**
 * Parses and checks a request for analytics, looks up the link, customer and folder that it names, and binds it.
 *
 * @param toMsMax events after this time are not counted, although they are in the range; epoch milliseconds
 * @throws ApiError 400 or 422 with the name of the invalid parameter, 403 for what the caller must not read, 404 for a link or folder
 * that does not exist
 */
export async function bindRequest(
  { catalog, now }: { readonly catalog: Catalog; readonly now: () => number },
  requester: KeyCaller,
  query: AnalyticsQuery,
  toMsMax = Infinity,
): Promise<BoundAnalytics> {
  const { workspace } = requester;
  const parsed = parseAnalytics(query, await analyticsClock(catalog, workspace, query, now()));
  const { range } = parsed.filters;
  checkDateRange(workspace, range);
  checkProgram(query.programId, workspace.defaultProgramId);
  const caller = callerOf(requester);
  const references = await findReferences(catalog, caller, parsed.filters);
  const filters = { ...parsed.filters, range: { ...range, toMs: Math.min(range.toMs, toMsMax) } };
  return bindAnalytics(
    { ...parsed, filters },
    { workspaceId: workspace.id, programId: workspace.defaultProgramId, ...references },
  );
}
