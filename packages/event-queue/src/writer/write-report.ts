import { type QueueKind, rowKey } from '@waymark/event-format';
import type { BatchRows } from './batch-rows.js';

/** The events of one workspace in a batch. The lag of an event is the time from the event to its insertion. */
export interface WorkspaceShare {
  events: number;
  lagMsMin: number;
  lagMsMax: number;
}

/** Describes an insert batch that a writer has stored, for metrics and traces. */
export interface WriteReport {
  readonly kind: QueueKind;
  /**
   * `retried`: after errors of ClickHouse; `bisected`: inserted in parts, because rows were refused; `parked`: some rows went to
   * the dead-letter queue.
   */
  readonly outcome: 'stored' | 'retried' | 'bisected' | 'parked';
  readonly rows: number;
  /** Length of the rows in characters, which is their size in bytes as long as they are ASCII. */
  readonly bytes: number;
  /** Number of inserts that were sent. */
  readonly attempts: number;
  /** How long its first job waited for the batch to be closed; 0 for a batch that another writer had started. */
  readonly gatherMs: number;
  /** Time from the first attempt to the last response. */
  readonly insertMs: number;
  /** Epoch milliseconds. */
  readonly storedMs: number;
  /** By workspace id; empty for customers, whose rows are no events. */
  readonly workspaces: ReadonlyMap<string, WorkspaceShare>;
}

/** The result of inserting a batch. */
export interface Inserted {
  readonly attempts: number;
  readonly isSplit: boolean;
  readonly parked: number;
}

/** The outcome to report; the first that applies of parked, bisected and retried. */
function outcomeOf({ attempts, isSplit, parked }: Inserted): WriteReport['outcome'] {
  if (parked > 0) return 'parked';
  if (isSplit) return 'bisected';
  return attempts > 1 ? 'retried' : 'stored';
}

/** The events of each workspace in these rows, with their lag at `storedMs`. */
function workspaceShares(rows: readonly string[], storedMs: number): Map<string, WorkspaceShare> {
  const shares = new Map<string, WorkspaceShare>();
  for (const row of rows) {
    const key = rowKey(row);
    if (key === undefined) continue;
    const lagMs = storedMs - key.timestampMs;
    const share = shares.get(key.workspaceId);
    if (share === undefined) {
      shares.set(key.workspaceId, { events: 1, lagMsMin: lagMs, lagMsMax: lagMs });
      continue;
    }
    share.events += 1;
    if (lagMs < share.lagMsMin) share.lagMsMin = lagMs;
    if (lagMs > share.lagMsMax) share.lagMsMax = lagMs;
  }
  return shares;
}

/** Times of a batch. */
export interface BatchTimes {
  /** See {@link WriteReport}. */
  readonly gatherMs: number;
  /** When its first insert began, epoch milliseconds. */
  readonly since: number;
  /** When its last insert was answered, epoch milliseconds. */
  readonly storedMs: number;
}

/** The report on a batch that is stored. */
export function reportOf(
  kind: QueueKind,
  { texts, faulty }: BatchRows,
  inserted: Inserted,
  { gatherMs, since, storedMs }: BatchTimes,
): WriteReport {
  return {
    kind,
    outcome: outcomeOf({ ...inserted, parked: inserted.parked + faulty.length }),
    rows: texts.length,
    bytes: texts.reduce((sum, text) => sum + text.length, 0),
    attempts: inserted.attempts,
    gatherMs,
    insertMs: storedMs - since,
    storedMs,
    workspaces: kind === 'customer' ? new Map() : workspaceShares(texts, storedMs),
  };
}
