import type { WriteReport } from '@waymark/event-queue';
import type { OpsLog } from '../ops-log.js';
import { DurationCounts } from './duration-counts.js';

/** The insert batches of one kind that this writer has stored. */
export interface KindCounts {
  readonly insertDurations: DurationCounts;
  /** Insert batches by number of rows; see `ROWS_BOUNDS`. */
  readonly rowBuckets: number[];
  /** Rows of all batches together. */
  rows: number;
  /** Numbers of insert batches by outcome. */
  readonly outcomes: Map<WriteReport['outcome'], number>;
}

/** Upper bounds of `rowBuckets`, which has one more bucket for larger batches. */
export const ROWS_BOUNDS = [1, 10, 100, 500, 1000, 2500, 5000, 10_000, 20_000] as const;

/** Counts the insert batches of a writer, and logs them to the operator tables. */
export interface WriterCounts {
  count(batch: WriteReport): void;
  /** Counts deliveries to webhooks that were not queued. @param kind click, lead or sale */
  dropDeliveries(kind: string, deliveries: number): void;
  /** Their number by kind of event, also of kinds without any: an alert compares it with an earlier value. */
  droppedDeliveries(): ReadonlyMap<string, number>;
  /** @param sinceMs since when the oldest erasure is open, epoch milliseconds; undefined if none is */
  noteOldestErasure(sinceMs: number | undefined): void;
  /** The age of the oldest erasure that is open; 0 if none is. Undefined before the first note of it. */
  erasureAgeMs(): number | undefined;
  /** By kind of row. */
  all(): ReadonlyMap<string, KindCounts>;
}

export interface WriterCountsOptions {
  readonly instance: string;
  readonly opsLog: Pick<OpsLog, 'add' | 'onFlush'>;
  readonly now: () => number;
}

/** The events of one kind that were stored for a workspace in a minute, since the last flush of the operator tables. */
interface WorkspaceMinute {
  readonly minute: number;
  readonly workspaceId: string;
  readonly kind: string;
  events: number;
  lagMsMax: number;
}

/** Creates the counts of a writer, which begin at 0. */
export function createWriterCounts({ instance, opsLog, now }: WriterCountsOptions): WriterCounts {
  const kinds = new Map<string, KindCounts>();
  const dropped = new Map<string, number>(['click', 'lead', 'sale'].map((kind) => [kind, 0]));

  /** By minute, workspace and kind. Summed, because a writer stores up to ten batches a second, each with hundreds of workspaces. */
  const workspaceMinutes = new Map<string, WorkspaceMinute>();
  opsLog.onFlush(() => {
    for (const { minute, workspaceId, kind, events, lagMsMax } of workspaceMinutes.values()) {
      opsLog.add('ops_workspace_minutes', [minute, workspaceId, kind, events, lagMsMax]);
    }
    workspaceMinutes.clear();
  });

  function countWorkspaces({ kind, storedMs, workspaces }: WriteReport): void {
    const minute = Math.floor(storedMs / 60_000) * 60;
    for (const [workspaceId, { events, lagMsMax }] of workspaces) {
      const key = `${minute} ${workspaceId} ${kind}`;
      const counted = workspaceMinutes.get(key);
      if (counted === undefined) {
        workspaceMinutes.set(key, { minute, workspaceId, kind, events, lagMsMax });
      } else {
        counted.events += events;
        counted.lagMsMax = Math.max(counted.lagMsMax, lagMsMax);
      }
    }
  }

  let oldestErasure: { readonly sinceMs: number | undefined } | undefined;

  function countsOf(kind: string): KindCounts {
    let counts = kinds.get(kind);
    if (counts === undefined) {
      const rowBuckets = new Array<number>(ROWS_BOUNDS.length + 1).fill(0);
      counts = { insertDurations: new DurationCounts(), rowBuckets, rows: 0, outcomes: new Map() };
      kinds.set(kind, counts);
    }
    return counts;
  }

  return {
    all: () => kinds,
    noteOldestErasure(sinceMs) {
      oldestErasure = { sinceMs };
    },
    erasureAgeMs() {
      if (oldestErasure === undefined) return undefined;
      const { sinceMs } = oldestErasure;
      return sinceMs === undefined ? 0 : Math.max(0, now() - sinceMs);
    },
    droppedDeliveries: () => dropped,
    dropDeliveries: (kind, deliveries) => dropped.set(kind, (dropped.get(kind) ?? 0) + deliveries),
    count(batch) {
      const { kind, outcome, rows, bytes, attempts, gatherMs, insertMs, storedMs } = batch;
      const counts = countsOf(kind);
      counts.insertDurations.add(insertMs);
      const bound = ROWS_BOUNDS.findIndex((most) => rows <= most);
      const index = bound < 0 ? ROWS_BOUNDS.length : bound;
      counts.rowBuckets[index] = (counts.rowBuckets[index] ?? 0) + 1;
      counts.rows += rows;
      counts.outcomes.set(outcome, (counts.outcomes.get(outcome) ?? 0) + 1);

      const lags = [...batch.workspaces.values()];
      const lagMin = lags.length === 0 ? 0 : Math.min(...lags.map(({ lagMsMin }) => lagMsMin));
      const lagMax = lags.length === 0 ? 0 : Math.max(...lags.map(({ lagMsMax }) => lagMsMax));
      const times = [Math.max(0, Math.round(gatherMs)), Math.max(0, Math.round(insertMs))];
      opsLog.add('ops_batches', [storedMs, instance, kind, outcome, rows, bytes, attempts, ...times, lagMin, lagMax]);
      countWorkspaces(batch);
    },
  };
}
