import { ApiError } from '@waymark/contract';
import type { EventRow, QueueKind } from '@waymark/event-format';
import type { EntryFinal, StateValue } from './transaction.js';

/** Limit on the size of a row, as JSON. */
export const ROW_BYTES_MAX = 100_000;

/** A click that waits for its batch. */
export interface ClickItem {
  readonly type: 'click';
  readonly claim: string;
  readonly clickId: string;
  readonly rowText: string;
  /** Whether other processes shall find the click's row while it is queued. */
  readonly isFindable: boolean;
  /** @param clickId the click that counts for this visit: this one, or the one recorded within the hour before */
  settle(clickId: string): void;
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
  settle(): void;
  /** Rejects the commit: nothing was recorded, because a claim was held or had expired, or the filter mark had changed. */
  refuse(): void;
  fail(err: unknown): void;
}

export type BatchItem = ClickItem | CommitItem;

/** The error for a row that is too large; undefined for other rows. @param text the row as JSON */
export function rowSizeFault(text: string): ApiError | undefined {
  // A UTF-16 code unit is at most three bytes, so most rows need no byte count.
  if (text.length * 3 <= ROW_BYTES_MAX || Buffer.byteLength(text) <= ROW_BYTES_MAX) return undefined;
  return new ApiError('unprocessable_entity', `The event is larger than ${ROW_BYTES_MAX} bytes.`);
}

/** The row as JSON. @throws ApiError unprocessable_entity when it is larger than {@link ROW_BYTES_MAX} */
export function rowText(row: EventRow): string {
  const text = JSON.stringify(row);
  const fault = rowSizeFault(text);
  if (fault !== undefined) throw fault;
  return text;
}
