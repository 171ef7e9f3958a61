import { groupBy } from '@waymark/contract';
import type { ClickHouseClient } from '../client.js';
import { logicalShard } from './placement.js';
import { readPlacement, type StoredPlacement } from './placement-store.js';

/**
 * How long a cached placement is used. Rows of a logical shard that has moved meanwhile are sent on by the server's `Distributed` table.
 */
const FRESH_MS = 10_000;
/** Clocks of writers and servers may differ by this much. */
const CLOCK_MS = 10 * 60_000;

/** Those of the rows to insert that belong to one shard. */
export interface RowGroup<Row> {
  readonly rows: readonly Row[];
  /**
   * Added to the deduplication token, so that the groups of one insert have different tokens; empty with a single shard. It changes when a
   * logical shard moves.
   */
  readonly name: string;
}

/** Divides rows by shard, so that each insert goes to one shard. */
export interface RowGroups {
  /** @param workspaceOf the UInt64 of a row's workspace as decimal text */
  groupsOf<Row>(rows: readonly Row[], workspaceOf: (row: Row) => string): Promise<readonly RowGroup<Row>[]>;
  /** Whether a logical shard may have moved since `time`, epoch milliseconds. Then an insert from before must not be repeated as it was. */
  hasMovedSince(time: number): Promise<boolean>;
}

/** On one server all rows are one group. */
const ONE_GROUP: RowGroups = {
  groupsOf: async (rows) => [{ rows, name: '' }],
  hasMovedSince: async () => false,
};

/** Creates {@link RowGroups}; without a cluster, {@link ONE_GROUP}. */
export function createRowGroups(
  client: ClickHouseClient,
  { cluster, now }: { readonly cluster: string | undefined; readonly now: () => number },
): RowGroups {
  if (cluster === undefined) return ONE_GROUP;
  let cached: { readonly placement: Promise<StoredPlacement | undefined>; readonly until: number } | undefined;
  const placement = () => {
    if (cached === undefined || cached.until <= now()) {
      const reading = readPlacement(client, { cluster });
      cached = { placement: reading, until: now() + FRESH_MS };
      reading.catch(() => {
        cached = undefined;
      });
    }
    return cached.placement;
  };
  return {
    async groupsOf(rows, workspaceOf) {
      const stored = await placement();
      if (stored === undefined || new Set(stored.shards).size === 1) return [{ rows, name: '' }];
      const groups = groupBy(rows, (row) => stored.shards[logicalShard(BigInt(workspaceOf(row)))] ?? 0);
      return [...groups].map(([shard, members]) => ({ rows: members, name: `-${shard}-${stored.version}` }));
    },

    async hasMovedSince(time) {
      const stored = await readPlacement(client, { cluster });
      return stored === undefined || stored.changedMs > time - CLOCK_MS;
    },
  };
}
