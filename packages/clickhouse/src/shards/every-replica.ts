import { setTimeout as delay } from 'node:timers/promises';
import { type ClickHouseClient, optionsOf } from '../client.js';
import { quoteIdentifier } from '../quote-identifier.js';
import { countShards } from './placement-store.js';

/** What a server says about its replica of a table. */
export interface ReplicaState {
  readonly server: string;
  /** Where the replicas of a shard meet in Keeper. */
  readonly path: string;
  readonly insertsInQueue: number;
  /** When the oldest insert that it does not have was made, epoch seconds; without one it does not matter. */
  readonly oldestInsert: number;
  /** The next entry of the log that it will take, and the last one there is. */
  readonly logPointer: number;
  readonly logEnd: number;
}

/** After this time a log that seems to be empty is: its first entry would have been taken. */
const EMPTY_LOG_MS = 1000;
/** Servers' clocks may differ by this much. */
const CLOCK_SECONDS = 5;
const WAIT_MS = 10_000;
const RETRY_MS = 100;

/**
 * The servers that have everything which was inserted into their shard before `since` (epoch seconds): they have taken every entry that
 * the log of the shard had then, and what they still fetch is younger.
 *
 * @param logEnds the last entries of the logs at that time, by path
 * @param acceptsEmptyLogs whether a log without entries counts as complete: `system.replicas` shows the same for a log with one entry that no
 *   replica has read
 */
export function caughtUp(
  states: readonly ReplicaState[],
  since: number,
  logEnds: ReadonlyMap<string, number>,
  acceptsEmptyLogs = false,
): ReplicaState[] {
  return states.filter(({ path, insertsInQueue, oldestInsert, logPointer, logEnd }) => {
    const isEmpty = acceptsEmptyLogs && logPointer === 0 && logEnd === 0;
    const hasLog = isEmpty || logPointer > (logEnds.get(path) ?? 0);
    return hasLog && (insertsInQueue === 0 || oldestInsert > since + CLOCK_SECONDS);
  });
}

/** Servers that are away are left out, and each of the others answers for itself. */
const EACH_ALONE = { skip_unavailable_shards: 1, distributed_group_by_no_merge: 1 } as const;

export interface ReplicaRead {
  readonly cluster: string;
  /** The `Distributed` table. */
  readonly table: string;
  /** The expression to collect, a string. */
  readonly value: string;
  readonly where: string;
  readonly parameters: Record<string, unknown>;
  /** How long to wait for a replica that is behind; 10 s by default. */
  readonly waitMs?: number | undefined;
}

type StateRow = [server: string, path: string, inserts: string, oldest: string, pointer: string, end: string];

async function readStates(client: ClickHouseClient, { cluster, table }: ReplicaRead): Promise<ReplicaState[]> {
  const rows = await client.rows<StateRow>({
    query: `SELECT toString(serverUUID()) AS server, zookeeper_path AS path, toString(inserts_in_queue) AS inserts,
        toString(toUnixTimestamp(inserts_oldest_time)) AS oldest, toString(log_pointer) AS pointer, toString(log_max_index) AS log_end
      FROM clusterAllReplicas(${quoteIdentifier(cluster)}, system.replicas)
      WHERE database = {database:String} AND table = {table:String} AND NOT is_session_expired`,
    parameters: { database: optionsOf(client).database, table: `${table}_local` },
    settings: EACH_ALONE,
  });
  return rows.map(([server, path, inserts, oldest, pointer, end]) => ({
    server,
    path,
    insertsInQueue: Number(inserts),
    oldestInsert: Number(oldest),
    logPointer: Number(pointer),
    logEnd: Number(end),
  }));
}

async function serverTime(client: ClickHouseClient): Promise<number> {
  const rows = await client.rows<[number]>({ query: 'SELECT toUnixTimestamp(now())' });
  return Number(rows[0]?.[0]);
}

/**
 * Reads a value from every replica that answers, of every shard. A single replica may be behind, and not have what another one has
 * acknowledged; so at least one replica of each shard must have had all that there was when the read began, and must have answered.
 *
 * @throws Error when no replica of a shard has: the caller retries
 */
export async function readEveryReplica(client: ClickHouseClient, read: ReplicaRead): Promise<ReadonlySet<string>> {
  const shards = await countShards(client, read);
  const since = await serverTime(client);
  let states = await readStates(client, read);
  const logEnds = new Map<string, number>();
  for (const { path, logEnd } of states) logEnds.set(path, Math.max(logEnd, logEnds.get(path) ?? 0));
  const shardsOf = (some: readonly ReplicaState[]) => new Set(some.map(({ path }) => path)).size;
  let waitedMs = 0;
  const complete = () => caughtUp(states, since, logEnds, waitedMs >= EMPTY_LOG_MS);
  while (shardsOf(complete()) < shards && waitedMs < (read.waitMs ?? WAIT_MS)) {
    await delay(RETRY_MS);
    waitedMs += RETRY_MS;
    states = await readStates(client, read);
  }
  const answers = await client.rows<[server: string, values: string[]]>({
    query: `SELECT toString(serverUUID()) AS server, groupArray(${read.value}) AS found
      FROM clusterAllReplicas(${quoteIdentifier(read.cluster)}, currentDatabase(), ${read.table}_local) WHERE ${read.where}`,
    parameters: read.parameters,
    settings: EACH_ALONE,
  });
  const answered = new Set(answers.map(([server]) => server));
  if (shardsOf(complete().filter(({ server }) => answered.has(server))) < shards)
    throw new Error(`no replica of a shard of ${read.cluster} is known to have all rows of ${read.table}`);
  return new Set(answers.flatMap(([, values]) => values));
}
