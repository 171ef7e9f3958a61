import { ApiError } from '@waymark/contract';
import type { EventRow, QueueKind } from '@waymark/event-format';
import type { EntryFinal, StateValue } from './transaction.js';

/** A row is at most that many bytes of JSON. */
export const ROW_BYTES_MAX = 100_000;

/** A click on its way into a batch. */
export interface ClickItem {
  readonly type: 'click';
  readonly claim: string;
  readonly clickId: string;
  readonly rowText: string;
  /** @param clickId of the click that stands for this visit: its own once it is safe, or the one counted within the hour */
  settle(clickId: string): void;
  fail(err: unknown): void;
}

/** One `commit` on its way into a batch. */
export interface CommitItem {
  readonly type: 'commit';
  readonly rows: readonly { readonly kind: QueueKind; readonly text: string }[];
  readonly finals: readonly EntryFinal[];
  readonly state: readonly StateValue[];
  /** True once its caller has been answered, either way. */
  isSettled: boolean;
  settle(): void;
  /** Nothing of it was recorded, because a claim was not as it had to be. */
  refuse(): void;
  fail(err: unknown): void;
}

export type BatchItem = ClickItem | CommitItem;

/** The error of a row that is too large; undefined for any other. */
export function rowSizeFault(text: string): ApiError | undefined {
  // A character is at most three bytes, so most rows need no count.
  if (text.length * 3 <= ROW_BYTES_MAX || Buffer.byteLength(text) <= ROW_BYTES_MAX) return undefined;
  return new ApiError('unprocessable_entity', `The event is larger than ${ROW_BYTES_MAX} bytes.`);
}

/** A row as the queue carries it; throws for one that is too large. */
export function rowText(row: EventRow): string {
  const text = JSON.stringify(row);
  const fault = rowSizeFault(text);
  if (fault !== undefined) throw fault;
  return text;
}
