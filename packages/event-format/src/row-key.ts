import type { EventTableKind } from './columns.js';

/**
 * Reads ids from event rows in the queue, which are JSON arrays in the column order of columns.ts, without parsing the whole row.
 * All ids but the event id are decimal numbers, with or without quotes.
 */

/** The key of an event row of any kind. */
export interface RowKey {
  readonly workspaceId: string;
  readonly timestampMs: number;
  readonly eventId: string;
}

/** The ids that an event row refers to. */
export interface RowIds {
  readonly workspaceId: string;
  /** For clicks, the click id. */
  readonly eventId: string;
  readonly linkId: string;
  /** Undefined for clicks. */
  readonly customerId: string | undefined;
}

const NUMBER = String.raw`"?(\d+)"?`;
const KEY = String.raw`^\[${NUMBER},(\d+),"([^"\\]*)"`;
const NAME = String.raw`"(?:[^"\\]|\\.)*"`;

const ROW_KEY = new RegExp(KEY);
const CLICK = new RegExp(String.raw`${KEY},${NUMBER}[,\]]`);
const CONVERSION = new RegExp(String.raw`${KEY},${NAME},${NUMBER},${NUMBER}[,\]]`);

/** Reads the key at the start of a row: workspace, timestamp, event id. Undefined for a malformed row. */
export function rowKey(row: string): RowKey | undefined {
  const match = ROW_KEY.exec(row);
  if (match === null) return undefined;
  const [, workspaceId = '', timestamp = '', eventId = ''] = match;
  return { workspaceId, timestampMs: Number(timestamp), eventId };
}

/** Reads the ids at the start of a row; undefined for a malformed row. */
export function rowIds(kind: EventTableKind, row: string): RowIds | undefined {
  const match = (kind === 'click' ? CLICK : CONVERSION).exec(row);
  if (match === null) return undefined;
  const [, workspaceId = '', , eventId = '', first = '', second] = match;
  return second === undefined
    ? { workspaceId, eventId, linkId: first, customerId: undefined }
    : { workspaceId, eventId, linkId: second, customerId: first };
}
