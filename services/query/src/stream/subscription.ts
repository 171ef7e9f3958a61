import type { WorkspaceRecord } from '@waymark/catalog';
import { EVENT_KINDS, type EventKind, type EventsStreamQuery } from '@waymark/contract';
import { type ParsedFilters, parseFilters } from '@waymark/event-query';
import type { Caller } from '../events/find-references.js';

/** Which events a stream sends, and with which permissions they are read. */
export interface Subscription {
  readonly caller: Caller;
  readonly programId: string | null;
  /** The filters, for each kind of event that the stream sends. Their range is not used. */
  readonly filters: ReadonlyMap<EventKind, ParsedFilters>;
  /** The same for all subscriptions that send the same events with the same permissions. */
  readonly key: string;
}

/**
 * Parses the query string of `GET /events/stream`.
 *
 * @throws ApiError 400 or 422 with the name of the invalid parameter
 */
export function parseSubscription(
  { event = 'clicks', ...query }: EventsStreamQuery,
  { id: workspaceId, defaultProgramId: programId }: WorkspaceRecord,
  visibility: Caller['visibility'],
  nowMs: number,
): Subscription {
  const kinds = event === 'all' ? EVENT_KINDS : [event];
  const filters = new Map(kinds.map((kind) => [kind, parseFilters({ ...query, event: kind }, nowMs)]));
  const compared = [...filters.values()].map(({ range: _range, ...others }) => others);
  const key = JSON.stringify([workspaceId, programId, visibility, compared]);
  return { caller: { workspaceId, visibility }, programId, filters, key };
}
