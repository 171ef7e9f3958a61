import type { WriteReport } from '@waymark/event-queue';
import type { OpsLog } from '../ops-log.js';
import { DurationCounts } from './duration-counts.js';

/** Insert batches of one kind that this writer stored. */
export interface KindCounts {
  readonly insertDurations: DurationCounts;
  /** Insert batches by number of rows; see `ROWS_BOUNDS`. */
  readonly rowPlaces: number[];
  rows: number;
  readonly outcomes: Map<WriteReport['outcome'], number>;
}

/** Upper bounds of the buckets of `rowPlaces`, which has one more for larger batches. */
export const ROWS_BOUNDS = [1, 10, 100, 500, 1000, 2500, 5000, 10_000, 20_000] as const;

/** Counts the insert batches of a writer, and logs them to the operator tables. */
export interface WriterCounts {
  count(group: WriteReport): void;
  all(): ReadonlyMap<string, KindCounts>;
}

export interface WriterCountsOptions {
  readonly instance: string;
  readonly opsLog: Pick<OpsLog, 'add'>;
}

export function createWriterCounts({ instance, opsLog }: WriterCountsOptions): WriterCounts {
  const kinds = new Map<string, KindCounts>();

  function countsOf(kind: string): KindCounts {
    let counts = kinds.get(kind);
    if (counts === undefined) {
      const rowPlaces = new Array<number>(ROWS_BOUNDS.length + 1).fill(0);
      counts = { insertDurations: new DurationCounts(), rowPlaces, rows: 0, outcomes: new Map() };
      kinds.set(kind, counts);
    }
    return counts;
  }

  return {
    all: () => kinds,
    count(group) {
      const { kind, outcome, rows, bytes, attempts, gatherMs, insertMs, storedAt } = group;
      const counts = countsOf(kind);
      counts.insertDurations.add(insertMs);
      const bound = ROWS_BOUNDS.findIndex((most) => rows <= most);
      const place = bound < 0 ? ROWS_BOUNDS.length : bound;
      counts.rowPlaces[place] = (counts.rowPlaces[place] ?? 0) + 1;
      counts.rows += rows;
      counts.outcomes.set(outcome, (counts.outcomes.get(outcome) ?? 0) + 1);

      const lags = [...group.workspaces.values()];
      const lagMin = lags.length === 0 ? 0 : Math.min(...lags.map(({ lagMsMin }) => lagMsMin));
      const lagMax = lags.length === 0 ? 0 : Math.max(...lags.map(({ lagMsMax }) => lagMsMax));
      const times = [Math.max(0, Math.round(gatherMs)), Math.max(0, Math.round(insertMs))];
      opsLog.add('ops_batches', [storedAt, instance, kind, outcome, rows, bytes, attempts, ...times, lagMin, lagMax]);
      const minute = Math.floor(storedAt / 60_000) * 60;
      for (const [workspaceId, { events, lagMsMax }] of group.workspaces) {
        opsLog.add('ops_workspace_minutes', [minute, workspaceId, kind, events, lagMsMax]);
      }
    },
  };
}
