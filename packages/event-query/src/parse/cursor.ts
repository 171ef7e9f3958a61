import { createHash } from 'node:crypto';
import type { EventsQuery } from '@waymark/contract';
import { fieldError } from '@waymark/contract';
import { DEFAULT_INTERVAL, DEFAULT_TIME_ZONE } from '../dates/time-range.js';
import { directionOf, type Position } from './page.js';

/** Where a page begins: what the text of a cursor holds. */
export interface Cursor {
  /** When the first page was asked for, in epoch milliseconds. It is the present of all its pages, so that their range stays. */
  readonly nowMs: number;
  /** The last event of the page before. */
  readonly after: Position;
}

/** What a cursor belongs to. */
export interface CursorScope {
  readonly query: EventsQuery;
  readonly workspaceId: string;
}

/*
 * Bytes of version 1: the version, the present and the event's time (48 bits each), the event's id, the seal. The seal is no
 * secret: a cursor gives nothing that `start` and `end` would not give, and the workspace comes from the key.
 */
const VERSION = 1;
const TIME_BYTES = 6;
const NOW_START = 1;
const EVENT_TIME_START = NOW_START + TIME_BYTES;
const ID_START = EVENT_TIME_START + TIME_BYTES;
const ID_BYTES = 16;
const SEAL_START = ID_START + ID_BYTES;
const SEAL_BYTES = 12;
const LENGTH = SEAL_START + SEAL_BYTES;
const ID = /^[0-9A-Za-z]{16}$/;
/** Where event ids end, and with them all times (42 bits). */
const MS_MAX = 2 ** 42 - 1;

/** What a caller may change from page to page, or is part of the seal in another form. */
const UNSEALED: ReadonlySet<string> = new Set(['cursor', 'page', 'limit', 'event', 'sortOrder', 'sortBy', 'order']);

/** What a parameter says that is not there. */
const DEFAULTS: Readonly<Record<string, unknown>> = { interval: DEFAULT_INTERVAL, timezone: DEFAULT_TIME_ZONE };

/** A digest of the position and of everything that decides which events are listed, and in which order. */
function sealOf(head: Buffer, { query, workspaceId }: CursorScope): Buffer {
  const parameters = Object.entries(query)
    .filter(([name, value]) => value !== undefined && value !== DEFAULTS[name] && !UNSEALED.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const request = JSON.stringify([workspaceId, query.event ?? 'clicks', directionOf(query), parameters]);
  return createHash('sha256').update(head).update(request).digest().subarray(0, SEAL_BYTES);
}

/** The cursor of the page that follows the event. */
export function writeCursor({ nowMs, after }: Cursor, scope: CursorScope): string {
  const head = Buffer.alloc(SEAL_START);
  head.writeUInt8(VERSION);
  head.writeUIntBE(nowMs, NOW_START, TIME_BYTES);
  head.writeUIntBE(after.timeMs, EVENT_TIME_START, TIME_BYTES);
  head.write(after.id, ID_START, ID_BYTES, 'latin1');
  return Buffer.concat([head, sealOf(head, scope)]).toString('base64url');
}

function decode(text: string, scope: CursorScope): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Decoding skips what is no base64; such a text is none of ours.
  if (bytes.length !== LENGTH || bytes.toString('base64url') !== text || bytes[0] !== VERSION) return undefined;
  if (!bytes.subarray(SEAL_START).equals(sealOf(bytes.subarray(0, SEAL_START), scope))) return undefined;
  const nowMs = bytes.readUIntBE(NOW_START, TIME_BYTES);
  const timeMs = bytes.readUIntBE(EVENT_TIME_START, TIME_BYTES);
  const id = bytes.toString('latin1', ID_START, SEAL_START);
  return nowMs > MS_MAX || timeMs > MS_MAX || !ID.test(id) ? undefined : { nowMs, after: { timeMs, id } };
}

/**
 * The cursor of a request; undefined when it has none.
 *
 * @throws ApiError 422 for a text that is no cursor, one of another workspace, event kind, order, range or filter, and for a
 * page number beside it. Clients that always send `page=1` may: it says nothing.
 */
export function openCursor(scope: CursorScope): Cursor | undefined {
  const { cursor: text, page } = scope.query;
  if (text === undefined) return undefined;
  if (page !== 1) throw fieldError('invalid_combination', 'cursor', 'cannot be used together with page');
  const cursor = decode(text, scope);
  if (cursor !== undefined) return cursor;
  throw fieldError('invalid_value', 'cursor', 'must be the cursor of a page of the same list: only limit may differ');
}
