import type { ClickHouseClient } from '../client.js';
import { logicalShard } from './placement.js';
import { readPlacement, type StoredPlacement } from './placement-store.js';

/** How long the placement is used before it is read again. Rows that go to a shard that has changed meanwhile are passed on by the server. */
const FRESH_MS = 10_000;
/** Clocks of writers and servers may differ by this much. */
const CLOCK_MS = 10 * 60_000;

/** Rows that belong to one shard. */
export interface RowGroup<Row> {
  readonly rows: readonly Row[];
  /** Distinguishes the groups of one list of rows, as long as no logical shard moves; empty with a single shard. */
  readonly name: string;
}

/** Divides rows by the shards that they belong to, so that an insert goes to one of them. */
export interface RowGroups {
  groupsOf<Row>(rows: readonly Row[], workspaceOf: (row: Row) => string): Promise<readonly RowGroup<Row>[]>;
  /** Whether a logical shard may have moved since a time, epoch milliseconds: then an insert from before must not simply be repeated. */
  hasMovedSince(time: number): Promise<boolean>;
}

/** On one server all rows are one group. */
export const ONE_GROUP: RowGroups = {
  groupsOf: async (rows) => [{ rows, name: '' }],
  hasMovedSince: async () => false,
};

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
      const groups = new Map<number, (typeof rows)[number][]>();
      for (const row of rows) {
        const shard = stored.shards[logicalShard(BigInt(workspaceOf(row)))] ?? 0;
        const group = groups.get(shard);
        if (group === undefined) groups.set(shard, [row]);
        else group.push(row);
      }
      return [...groups].map(([shard, members]) => ({ rows: members, name: `-${shard}-${stored.version}` }));
    },

    async hasMovedSince(time) {
      const stored = await readPlacement(client, { cluster });
      return stored === undefined || stored.changedAt > time - CLOCK_MS;
    },
  };
}
