import type { ExportEventsQuery } from '@waymark/contract';
import { directionOf, type Position } from './page.js';
import { parseFilters } from './parse.js';
import type { ParsedRequest, StoredWindow } from './parsed-request.js';

/** Which part of an export to read. */
export interface EventExportPart {
  /** Maximum number of rows to read. */
  readonly limit: number;
  /** The last event of the part before; undefined for the first. */
  readonly after: Position | undefined;
  /** Selects only events whose time of storage is in this window. */
  readonly stored?: StoredWindow | undefined;
}

/**
 * Parses the query string of `GET /events/export`. The range ends at `nowMs` at the latest, so that the export ends although new events are
 * stored, and a later export can have the same range.
 *
 * @throws ApiError 400 or 422 with the name of the invalid parameter
 */
export function parseExport(
  query: ExportEventsQuery,
  nowMs: number,
  { limit, after, stored }: EventExportPart,
): ParsedRequest {
  const filters = parseFilters(query, nowMs);
  const range = { ...filters.range, toMs: Math.min(filters.range.toMs, nowMs) };
  return { ...filters, range, stored, page: { direction: directionOf(query), limit, offset: 0n, after } };
}
