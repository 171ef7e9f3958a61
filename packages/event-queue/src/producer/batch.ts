import { EVENT_ROW_VERSION, type QueueKind } from '@waymark/event-format';
import type { JobDraft } from '../queue/job-adder.js';
import { createJobId } from '../queue/job-id.js';
import { joinRows } from '../queue/job-rows.js';
import type { ClickMarker } from '../spool/batch-markers.js';
import type { ClickItem, CommitItem } from './batch-items.js';
import type { RowPlace, TransactionEntry, TransactionPlan } from './transaction.js';

/** A batch with its contents fixed: every attempt, and the spool, carry the same rows under the same job ids. */
export interface Batch {
  readonly clicks: readonly ClickItem[];
  readonly clickJob: JobDraft | undefined;
  readonly marker: ClickMarker;
  readonly commits: readonly CommitItem[];
  readonly commitJobs: readonly JobDraft[];
  /** For each commit, where its rows are in `commitJobs`. */
  readonly places: readonly (readonly RowPlace[])[];
}

function draftJob(kind: QueueKind, rows: readonly string[]): JobDraft {
  return { kind, jobId: createJobId(), version: EVENT_ROW_VERSION, rowCount: rows.length, rows: joinRows(rows) };
}

/** Fixes what a batch carries and under which job ids. */
export function buildBatch(marker: ClickMarker, clicks: readonly ClickItem[], commits: readonly CommitItem[]): Batch {
  const kinds: QueueKind[] = [];
  const rows: string[][] = [];
  const places = commits.map((commit) =>
    commit.rows.map(({ kind, text }) => {
      const job = kinds.includes(kind) ? kinds.indexOf(kind) : kinds.push(kind) - 1;
      rows[job] ??= [];
      return { job, index: (rows[job]?.push(text) ?? 0) - 1 };
    }),
  );
  const clickRows = clicks.map((click) => click.rowText);
  return {
    clicks,
    // Apart from click rows of commits: this job may go through the spool.
    clickJob: clicks.length === 0 ? undefined : draftJob('click', clickRows),
    marker,
    commits,
    commitJobs: kinds.map((kind, job) => draftJob(kind, rows[job] ?? [])),
    places,
  };
}

/** The transaction of a batch; without its clicks once those are safe elsewhere. */
export function planOf(batch: Batch, withClicks: boolean): TransactionPlan {
  const clickJob = withClicks ? batch.clickJob : undefined;
  const before = clickJob === undefined ? 0 : 1;
  const entries = batch.commits.map(
    (commit, index): TransactionEntry => ({
      finals: commit.finals,
      state: commit.state,
      rows: (batch.places[index] ?? []).map((place) => ({ ...place, job: place.job + before })),
      isAbandoned: commit.isSettled,
    }),
  );
  return {
    jobs: clickJob === undefined ? batch.commitJobs : [clickJob, ...batch.commitJobs],
    clicks: clickJob === undefined ? [] : batch.clicks,
    marker: batch.marker,
    entries,
  };
}
