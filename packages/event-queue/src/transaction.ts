import { FINALIZE } from './claim-scripts.js';
import { CLICK_MARKER_MS, type ClickMarker, markerKey } from './click-markers.js';
import type { JobAdder, JobDraft } from './job-adder.js';
import { claimKey, jobKey } from './queue-keys.js';

/** A claim of an entry: `pending` must still hold it, `final` replaces that. Both as stored. */
export interface EntryFinal {
  readonly name: string;
  readonly pending: string;
  readonly final: string;
  readonly ttlMs: number;
}

/** A key that other rooms read, set with the event. */
export interface StateValue {
  readonly key: string;
  readonly value: string;
  readonly ttlMs: number;
}

/** Where a row of an entry is: position of its job in the plan, position in that job. */
export interface RowPlace {
  readonly job: number;
  readonly index: number;
}

/** Everything one `commit` wants done, together or not at all. */
export interface TransactionEntry {
  readonly finals: readonly EntryFinal[];
  readonly state: readonly StateValue[];
  readonly rows: readonly RowPlace[];
  /** Its caller was told that it failed; without a claim that proves otherwise it is not to be recorded any more. */
  readonly isAbandoned: boolean;
}

export interface TransactionPlan {
  readonly jobs: readonly JobDraft[];
  /** Makes the claims of the batch's clicks final; undefined when their job is not among `jobs`. */
  readonly marker: ClickMarker | undefined;
  readonly entries: readonly TransactionEntry[];
}

/** The transaction was carried out in part; repeating it under the same job ids completes it. */
export class PartialTransactionError extends Error {
  override readonly name = 'PartialTransactionError';
}

function finalizeCall(plan: TransactionPlan): { keys: string[]; args: (string | number)[] } {
  const keys = plan.jobs.map((job) => jobKey(job.kind, job.jobId));
  const args: (string | number)[] = [plan.jobs.length, plan.marker?.bit ?? -1, CLICK_MARKER_MS];
  if (plan.marker !== undefined) keys.push(markerKey(plan.marker));
  args.push(plan.entries.length);
  for (const entry of plan.entries) {
    args.push(entry.isAbandoned ? 1 : 0, entry.finals.length);
    for (const { name, pending, final, ttlMs } of entry.finals) {
      keys.push(claimKey(name));
      args.push(pending, final, ttlMs);
    }
    args.push(entry.state.length);
    for (const { key, value, ttlMs } of entry.state) {
      keys.push(key);
      args.push(value, ttlMs);
    }
    args.push(entry.rows.length);
    for (const { job, index } of entry.rows) args.push(job + 1, index);
  }
  return { keys, args };
}

function isScriptMissing(err: unknown): boolean {
  return err instanceof Error && err.message.includes('NOSCRIPT');
}

/**
 * Adds a batch's jobs and makes its claims final in one transaction. The finalizing script is sent whole each time, so that
 * it runs even if Redis has forgotten every script: it is what keeps claims of missing jobs from becoming final.
 *
 * @returns positions in `plan.entries` of those that came too late and were not recorded
 * @throws whatever kept it from being carried out, or from being known to be
 */
export async function runTransaction(adder: JobAdder, plan: TransactionPlan): Promise<ReadonlySet<number>> {
  const multi = await adder.transaction();
  await Promise.all(plan.jobs.map((job) => adder.add(multi, job)));
  const { keys, args } = finalizeCall(plan);
  multi.eval(FINALIZE, keys.length, ...keys, ...args);
  const results = await multi.exec();
  if (results === null) throw new PartialTransactionError('the transaction was discarded');

  const failed = results.find(([err]) => err !== null)?.[0];
  if (failed !== undefined && failed !== null) {
    if (isScriptMissing(failed)) await adder.loadScripts();
    throw new PartialTransactionError('a part of the transaction failed', { cause: failed });
  }
  const late: unknown = results.at(-1)?.[1];
  return new Set(Array.isArray(late) ? late.map((entry) => Number(entry) - 1) : []);
}
