import { CLICK_CLAIM_MS } from '../claims/claim-names.js';
import { FINALIZE } from '../claims/claim-scripts.js';
import type { JobAdder, JobDraft } from '../queue/job-adder.js';
import { claimKey, jobKey, QUEUE_PREFIX } from '../queue/keys.js';
import { BATCH_MARKER_MS, type BatchMarker, markerKey } from '../spool/batch-markers.js';
import { addPositions, type QueuedClick } from './queued-clicks.js';

/** A claim to finalize: its stored value must be `pending` (empty: the claim must be free), and becomes `final`. */
export interface EntryFinal {
  readonly key: string;
  readonly pending: string;
  readonly final: string;
  readonly ttlMs: number;
}

/** A value that the transaction of an event sets in Redis, for readers outside this package. The key is made by `stateKey`. */
export interface StateValue {
  readonly key: string;
  /** If given, the key is a hash and `value` is set in this field. */
  readonly field?: string;
  readonly value: string;
  readonly ttlMs: number;
}

/** The position of a row: the index of its job in the plan, and its index in that job. */
export interface RowPosition {
  readonly job: number;
  readonly index: number;
}

/** Everything that one `commit` changes, all or nothing. */
export interface TransactionEntry {
  readonly finals: readonly EntryFinal[];
  readonly state: readonly StateValue[];
  readonly rows: readonly RowPosition[];
  /** True if its caller has already received an error: an entry without claims must then not be recorded any more. */
  readonly isAbandoned: boolean;
}

/** A click of a batch. */
export interface TransactionClick {
  /** Name of its hourly claim. */
  readonly claim: string;
  readonly clickId: string;
}

/** What the transaction of a batch does. */
export interface TransactionPlan {
  /** If there are clicks, their job comes first. */
  readonly jobs: readonly JobDraft[];
  readonly clicks: readonly TransactionClick[];
  /** Positions of the findable clicks of the first job. */
  readonly queuedClicks: readonly QueuedClick[];
  /** Idempotency key of the batch: a repeat of its transaction has the same marker. */
  readonly marker: BatchMarker;
  readonly entries: readonly TransactionEntry[];
}

/** What the transaction of a batch has done. */
export interface TransactionResult {
  /** Indexes of the entries that were not recorded, because a claim was not as they required. */
  readonly late: ReadonlySet<number>;
  /** Clicks of visits that were counted within the hour before: the id of the counted click, by index in `clicks`. */
  readonly alreadyCounted: ReadonlyMap<number, string>;
}

/**
 * TTL of a batch's idempotency key. A transaction is repeated for a shorter time, as every caller has an answer after five seconds. After a
 * repeat of a process that was suspended meanwhile, only the outcome that is stored with the jobs counts.
 */
export const OUTCOME_MS = 60_000;

/** The Redis key that makes a batch with commits idempotent. Its value lists the numbers of the late entries. */
function outcomeKey({ group, bit }: BatchMarker): string {
  return `${QUEUE_PREFIX}:outcome:${group}:${bit}`;
}

function finalizeCall({ jobs, clicks, marker, entries }: TransactionPlan): {
  keys: string[];
  args: (string | number)[];
} {
  const keys = jobs.map((job) => jobKey(job.kind, job.jobId));
  const args: (string | number)[] = [jobs.length, entries.length, clicks.length];
  if (clicks.length > 0) {
    keys.push(markerKey(marker));
    args.push(marker.bit, BATCH_MARKER_MS, CLICK_CLAIM_MS);
    for (const { claim, clickId } of clicks) {
      keys.push(claimKey(claim));
      args.push(clickId);
    }
  }
  if (entries.length > 0) {
    keys.push(outcomeKey(marker));
    args.push(OUTCOME_MS);
  }
  for (const entry of entries) {
    args.push(entry.isAbandoned ? 1 : 0, entry.finals.length);
    for (const { key, pending, final, ttlMs } of entry.finals) {
      keys.push(key);
      args.push(pending, final, ttlMs);
    }
    args.push(entry.state.length);
    for (const { key, field, value, ttlMs } of entry.state) {
      keys.push(key);
      args.push(field === undefined ? 0 : 1, field ?? '', value, ttlMs);
    }
    args.push(entry.rows.length);
    for (const { job, index } of entry.rows) args.push(job + 1, index);
  }
  return { keys, args };
}

function readResult(answer: unknown): TransactionResult {
  const [late, counted] = answer as [readonly number[], readonly (number | string)[]];
  const alreadyCounted = new Map<number, string>();
  for (let at = 0; at < counted.length; at += 2) {
    alreadyCounted.set(Number(counted[at]) - 1, String(counted[at + 1]));
  }
  return { late: new Set(late.map((entry) => entry - 1)), alreadyCounted };
}

/**
 * Adds a batch's jobs, takes the claims of its clicks and finalizes the claims of its commits, in one transaction. The FINALIZE script
 * prevents claims of missing jobs from becoming final, so it has to run even if Redis has lost its script cache: it is sent as text (EVAL,
 * not EVALSHA).
 *
 * @throws PartialTransactionError when a command failed; repeating the transaction under the same job ids completes it
 * @throws any other error of Redis or the connection; the transaction may have been carried out
 */
export async function runTransaction(adder: JobAdder, plan: TransactionPlan): Promise<TransactionResult> {
  const multi = await adder.transaction();
  await Promise.all(plan.jobs.map((job) => adder.add(multi, job)));
  const [firstJob] = plan.jobs;
  if (firstJob !== undefined) addPositions(multi, firstJob.jobId, plan.queuedClicks);
  const { keys, args } = finalizeCall(plan);
  multi.eval(FINALIZE, keys.length, ...keys, ...args);
  return readResult((await adder.run(multi)).at(-1));
}
