import { FINALIZE } from '../claims/claim-scripts.js';
import type { JobAdder, JobDraft } from '../queue/job-adder.js';
import { claimKey, jobKey } from '../queue/keys.js';
import { CLICK_MARKER_MS, type ClickMarker, markerKey } from '../spool/batch-markers.js';
import { CLICK_CLAIM_MS } from './recent-clicks.js';

/** A claim of an entry: `pending` must still hold it (empty: nobody may), `final` replaces that. Both as stored. */
export interface EntryFinal {
  readonly name: string;
  readonly pending: string;
  readonly final: string;
  readonly ttlMs: number;
}

/** A key that other rooms read, set with the event. */
export interface StateValue {
  readonly key: string;
  /** The key is a hash and the value one of its fields. */
  readonly field?: string;
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

/** A click of a batch, as the transaction that adds its row sees it. */
export interface TransactionClick {
  /** Name of its hourly claim. */
  readonly claim: string;
  readonly clickId: string;
}

export interface TransactionPlan {
  /** The job of the clicks first, if they are part of it. */
  readonly jobs: readonly JobDraft[];
  readonly clicks: readonly TransactionClick[];
  /** Of the batch whose clicks these are. */
  readonly marker: ClickMarker;
  readonly entries: readonly TransactionEntry[];
}

export interface TransactionResult {
  /** Positions in `entries` of those that came too late and were not recorded. */
  readonly late: ReadonlySet<number>;
  /** Clicks that were counted within the hour already, by their position in `clicks`: the id each has. */
  readonly known: ReadonlyMap<number, string>;
}

function finalizeCall({ jobs, clicks, marker, entries }: TransactionPlan): {
  keys: string[];
  args: (string | number)[];
} {
  const keys = jobs.map((job) => jobKey(job.kind, job.jobId));
  const args: (string | number)[] = [jobs.length, entries.length, clicks.length];
  if (clicks.length > 0) {
    keys.push(markerKey(marker));
    args.push(marker.bit, CLICK_MARKER_MS, CLICK_CLAIM_MS);
    for (const { claim, clickId } of clicks) {
      keys.push(claimKey(claim));
      args.push(clickId);
    }
  }
  for (const entry of entries) {
    args.push(entry.isAbandoned ? 1 : 0, entry.finals.length);
    for (const { name, pending, final, ttlMs } of entry.finals) {
      keys.push(claimKey(name));
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
  const [late, known] = answer as [readonly number[], readonly (number | string)[]];
  const knownIds = new Map<number, string>();
  for (let at = 0; at < known.length; at += 2) knownIds.set(Number(known[at]) - 1, String(known[at + 1]));
  return { late: new Set(late.map((entry) => entry - 1)), known: knownIds };
}

/**
 * Adds a batch's jobs, takes its clicks' claims and makes the others final, in one transaction. The finalizing script is sent
 * whole each time, so that it runs even if Redis has lost every script: it is what keeps claims of missing jobs from becoming
 * final.
 *
 * @throws PartialTransactionError when a part of it failed: repeating it under the same job ids completes it
 * @throws whatever else kept it from being carried out, or from being known to be
 */
export async function runTransaction(adder: JobAdder, plan: TransactionPlan): Promise<TransactionResult> {
  const multi = await adder.transaction();
  await Promise.all(plan.jobs.map((job) => adder.add(multi, job)));
  const { keys, args } = finalizeCall(plan);
  multi.eval(FINALIZE, keys.length, ...keys, ...args);
  return readResult((await adder.run(multi)).at(-1));
}
