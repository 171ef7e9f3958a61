import { ApiError } from '@waymark/contract';
import { EVENT_TABLES, type EventRow, type QueueKind } from '@waymark/event-format';
import { silentRow } from '../queue/job-rows.js';
import type { EntryFinal, StateValue } from './transaction.js';

/** Limit on the row of a click, as JSON. */
const CLICK_BYTES_MAX = 100_000;

/**
 * Limit on the rows of a commit together, as JSON. The largest lead has 350 kB: its click, 200 kB of metadata for queries and 30 kB to show. A
 * hundred leads with 10,000 letters of metadata and a URL of ordinary length have 2.1 MB.
 */
const COMMIT_BYTES_MAX = 3_000_000;

/** A click that waits for its batch. */
export interface ClickItem {
  readonly type: 'click';
  readonly claim: string;
  readonly clickId: string;
  readonly rowText: string;
  /** Whether other processes shall find the click's row while it is queued. */
  readonly isFindable: boolean;
  /** @param clickId the click that counts for this visit: this one, or the one recorded within the hour before */
  succeed(clickId: string): void;
  fail(err: unknown): void;
}

/** One `commit` that waits for its batch. */
export interface CommitItem {
  readonly type: 'commit';
  readonly rows: readonly { readonly kind: QueueKind; readonly text: string }[];
  readonly finals: readonly EntryFinal[];
  readonly state: readonly StateValue[];
  /** True once the caller of `commit` has an answer, success or error. */
  isSettled: boolean;
  succeed(): void;
  /** Rejects the commit: nothing was recorded, because a claim was held or had expired, or the filter mark had changed. */
  refuse(): void;
  fail(err: unknown): void;
}

export type BatchItem = ClickItem | CommitItem;

/** The error for a click whose row is too large; undefined for others. @param text the row as JSON */
export function clickSizeFault(text: string): ApiError | undefined {
  // A UTF-16 code unit is at most three bytes, so most rows need no byte count.
  if (text.length * 3 <= CLICK_BYTES_MAX || Buffer.byteLength(text) <= CLICK_BYTES_MAX) return undefined;
  return new ApiError('unprocessable_entity', `The event is larger than ${CLICK_BYTES_MAX} bytes.`);
}

/** A row for the queue of its kind, and rows that differ from it only in their id. */
export interface QueuedRow {
  readonly kind: QueueKind;
  readonly row: EventRow;
  /** Ids of further events, which are equal otherwise. No webhook is sent for them, because that of the row stands for all. */
  readonly copyIds?: readonly string[];
}

const EVENT_ID = EVENT_TABLES.lead.columns[1].indexOf('event_id');

/** The texts of a row's copies. The id is replaced in the row's text: serializing each copy would take a millisecond for each 50 kB. */
function copyTexts(row: EventRow, text: string, copyIds: readonly string[]): string[] {
  if (copyIds.length === 0) return [];
  const start = JSON.stringify(row.slice(0, EVENT_ID)).length;
  const end = start + JSON.stringify(row[EVENT_ID]).length;
  return copyIds.map((id) => silentRow(text.slice(0, start) + JSON.stringify(id) + text.slice(end)));
}

/** Creates a function that adds up the bytes of rows, as JSON, and of their copies. It throws as soon as they are too many for one commit. */
function sizeCheck(marginBytes = 0): (text: string, copies: number) => void {
  let bytes = marginBytes;
  return (text, copies) => {
    bytes += Buffer.byteLength(text) * (1 + copies);
    if (bytes <= COMMIT_BYTES_MAX) return;
    const message = `The events of this request have more than ${COMMIT_BYTES_MAX} bytes: send a smaller eventQuantity, or less metadata.`;
    throw new ApiError('unprocessable_entity', message);
  };
}

/**
 * Refuses rows as a commit would.
 *
 * @param marginBytes by how much the rows of the commit may be larger
 * @throws ApiError unprocessable_entity when they are larger than {@link COMMIT_BYTES_MAX} together
 */
export function checkCommitSize(rows: readonly QueuedRow[], marginBytes = 0): void {
  const check = sizeCheck(marginBytes);
  for (const { row, copyIds = [] } of rows) check(JSON.stringify(row), copyIds.length);
}

/** The rows of a commit as JSON. @throws ApiError unprocessable_entity when they are larger than {@link COMMIT_BYTES_MAX} together */
export function rowTexts(rows: readonly QueuedRow[]): CommitItem['rows'] {
  const check = sizeCheck();
  return rows.flatMap(({ kind, row, copyIds = [] }) => {
    const text = JSON.stringify(row);
    check(text, copyIds.length);
    return [text, ...copyTexts(row, text, copyIds)].map((one) => ({ kind, text: one }));
  });
}
