import { EVENT_ROW_VERSION, type QueueKind } from '@waymark/event-format';
import type { JobDraft } from '../queue/job-adder.js';
import { createJobId } from '../queue/job-id.js';
import { joinRows } from '../queue/job-rows.js';
import type { BatchMarker } from '../spool/batch-markers.js';
import type { ClickItem, CommitItem } from './batch-items.js';
import { positionsOf, type QueuedClick } from './queued-clicks.js';
import type { RowPosition, TransactionEntry, TransactionPlan } from './transaction.js';

/** An immutable batch: every attempt to send it, and the spool, use the same rows under the same job ids. */
export interface Batch {
  readonly clicks: readonly ClickItem[];
  readonly clickJob: JobDraft | undefined;
  /** Where the rows of clicks that can be found are in `clickJob`. */
  readonly queuedClicks: readonly QueuedClick[];
  readonly marker: BatchMarker;
  readonly commits: readonly CommitItem[];
  readonly commitJobs: readonly JobDraft[];
  /** For each commit, the positions of its rows in `commitJobs`. */
  readonly positions: readonly (readonly RowPosition[])[];
}

function draftJob(kind: QueueKind, rows: readonly string[]): JobDraft {
  return { kind, jobId: createJobId(), version: EVENT_ROW_VERSION, rowCount: rows.length, rows: joinRows(rows) };
}

/** Builds a batch: the clicks become one job, the rows of commits one job for each kind. */
export function buildBatch(marker: BatchMarker, clicks: readonly ClickItem[], commits: readonly CommitItem[]): Batch {
  const kinds: QueueKind[] = [];
  const rows: string[][] = [];
  const positions = commits.map((commit) =>
    commit.rows.map(({ kind, text }) => {
      const job = kinds.includes(kind) ? kinds.indexOf(kind) : kinds.push(kind) - 1;
      rows[job] ??= [];
      return { job, index: (rows[job]?.push(text) ?? 0) - 1 };
    }),
  );
  const clickRows = clicks.map((click) => click.rowText);
  return {
    clicks,
    // Separate from the click rows of commits, because only this job may go to the spool.
    clickJob: clicks.length === 0 ? undefined : draftJob('click', clickRows),
    queuedClicks: positionsOf(clicks),
    marker,
    commits,
    commitJobs: kinds.map((kind, job) => draftJob(kind, rows[job] ?? [])),
    positions,
  };
}

/** The transaction of a batch; without its clicks when those go to the spool. */
export function planOf(batch: Batch, withClicks: boolean): TransactionPlan {
  const clickJob = withClicks ? batch.clickJob : undefined;
  const before = clickJob === undefined ? 0 : 1;
  const entries = batch.commits.map(
    (commit, index): TransactionEntry => ({
      finals: commit.finals,
      state: commit.state,
      rows: (batch.positions[index] ?? []).map((position) => ({ ...position, job: position.job + before })),
      isAbandoned: commit.isSettled,
    }),
  );
  return {
    jobs: clickJob === undefined ? batch.commitJobs : [clickJob, ...batch.commitJobs],
    clicks: clickJob === undefined ? [] : batch.clicks,
    queuedClicks: clickJob === undefined ? [] : batch.queuedClicks,
    marker: batch.marker,
    entries,
  };
}
