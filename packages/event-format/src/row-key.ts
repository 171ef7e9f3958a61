import type { EventTableKind } from './columns.js';

/**
 * Rows of events as they travel: JSON arrays in the order of the columns of columns.ts. What begins them is read here without
 * parsing the rest. Ids of other things are decimal numbers, with quotes or without.
 */

/** What identifies the row of an event, of any kind. */
export interface RowKey {
  readonly workspaceId: string;
  readonly timestampMs: number;
  readonly eventId: string;
}

/** Whom a row counts for. */
export interface RowSubjects {
  readonly workspaceId: string;
  /** Of clicks it is their click id. */
  readonly eventId: string;
  readonly linkId: string;
  /** Of leads and sales. */
  readonly customerId: string | undefined;
}

const NUMBER = String.raw`"?(\d+)"?`;
const KEY = String.raw`^\[${NUMBER},(\d+),"([^"\\]*)"`;
const NAME = String.raw`"(?:[^"\\]|\\.)*"`;

const ROW_KEY = new RegExp(KEY);
const CLICK = new RegExp(String.raw`${KEY},${NUMBER}[,\]]`);
const CONVERSION = new RegExp(String.raw`${KEY},${NAME},${NUMBER},${NUMBER}[,\]]`);

/** Reads the key at the start of a row: workspace, milliseconds, id; undefined when it begins otherwise. */
export function rowKey(row: string): RowKey | undefined {
  const match = ROW_KEY.exec(row);
  if (match === null) return undefined;
  const [, workspaceId = '', timestamp = '', eventId = ''] = match;
  return { workspaceId, timestampMs: Number(timestamp), eventId };
}

/** Reads whom a row counts for; undefined when it begins otherwise than rows of its kind. */
export function rowSubjects(kind: EventTableKind, row: string): RowSubjects | undefined {
  const match = (kind === 'click' ? CLICK : CONVERSION).exec(row);
  if (match === null) return undefined;
  const [, workspaceId = '', , eventId = '', first = '', second] = match;
  return second === undefined
    ? { workspaceId, eventId, linkId: first, customerId: undefined }
    : { workspaceId, eventId, linkId: second, customerId: first };
}
