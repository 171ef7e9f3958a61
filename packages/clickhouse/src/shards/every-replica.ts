import { setTimeout as delay } from 'node:timers/promises';
import { groupBy } from '@waymark/contract';
import { type ClickHouseClient, optionsOf } from '../client.js';
import { isInfrastructureError } from '../infrastructure-error.js';
import { quoteIdentifier } from '../quote-identifier.js';
import type { ReadSettings } from '../rows/row-reader.js';
import { countShards } from './placement-store.js';

/** The state of one replica of a table, from `system.replicas` of its server. */
export interface ReplicaState {
  readonly server: string;
  /** Path in Keeper, which the replicas of a shard share. */
  readonly path: string;
  /** Number of inserts that it has not fetched yet. */
  readonly insertsInQueue: number;
  /** When the oldest of these inserts was made, epoch seconds; any value if there are none. */
  readonly oldestInsert: number;
  /** Numbers of the log entry that it will take next, and of the last entry of the log. */
  readonly logPointer: number;
  readonly logEnd: number;
}

/** A log that seems to be empty for this long is empty: otherwise a replica would have taken its first entry by then. */
const EMPTY_LOG_MS = 1000;
/** Servers' clocks may differ by this much. */
const CLOCK_SECONDS = 5;
const WAIT_MS = 10_000;
const RETRY_MS = 100;

/**
 * The replicas that have all rows which were inserted into their shard before `since` (epoch seconds): they have taken every entry that the
 * log of the shard had at that time, and the inserts that they have not fetched yet are younger.
 *
 * @param logEnds number of the last log entry at that time or later, of every path
 * @param acceptsEmptyLogs whether a log without entries counts as complete: `system.replicas` shows the same for a log with one entry that
 *   no replica has read
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

/** Settings of a query to all replicas: those that are away are skipped, and each of the others returns rows of its own. */
const EACH_ALONE = { skip_unavailable_shards: 1, distributed_group_by_no_merge: 1 } as const;

/** A table, and how to find its replicas that have all rows. */
export interface ReplicatedTable {
  readonly cluster: string;
  /** The `Distributed` table. */
  readonly table: string;
  /** How long to wait for a replica that is behind; 10 s by default. */
  readonly waitMs?: number | undefined;
  /** Pause between two reads of the states of replicas; 100 ms by default. */
  readonly retryMs?: number | undefined;
  /** The rows were acknowledged before this time of a server, epoch seconds; by default, before the read. */
  readonly since?: number | undefined;
  /** Aborts the statement that runs, and those that follow. */
  readonly signal?: AbortSignal | undefined;
}

/** Which rows of all replicas are read. */
interface RowSelection extends ReplicatedTable {
  readonly where: string;
  readonly parameters: Record<string, unknown>;
  /** Settings of the statement that reads the rows. */
  readonly settings?: ReadSettings | undefined;
}

/** What {@link readEveryReplica} reads. */
export interface ReplicaRead extends RowSelection {
  /** SQL of the expression to collect, a String. */
  readonly value: string;
}

/** What {@link readReplicaRows} and {@link findOnReplicas} read. */
export interface ReplicaRowsRead extends RowSelection {
  /** SQL of the columns to return, as texts. */
  readonly columns: readonly string[];
  /** The one of them that identifies a row. */
  readonly key: string;
}

/** What the replicas that answered have. */
export interface ReplicaRows {
  /** The rows by their keys. */
  readonly rows: ReadonlyMap<string, readonly string[]>;
  /** The servers that answered. */
  readonly servers: ReadonlySet<string>;
}

/** Whether one of some servers has all rows of a shard, for each shard. */
export type CompleteReplicas = (servers: ReadonlySet<string>) => boolean;

/** What one server has answered. */
type Answer<T> = readonly [server: string, found: readonly T[]];

/** Rows are missing, and it is not known whether they exist. */
export class MissingRowsError extends Error {
  override readonly name = 'MissingRowsError';

  /** @param found the rows that were found, by their keys */
  constructor(
    readonly found: ReadonlyMap<string, readonly string[]>,
    cause: unknown,
    /** Time of a server from which on the rows are looked for, for another read: the given one, or that of the read; undefined = not known. */
    readonly since?: number,
  ) {
    super('it is not known whether rows exist, because replicas are behind or away', { cause });
  }
}

type StateRow = [server: string, path: string, inserts: string, oldest: string, pointer: string, end: string];

async function readStates(
  client: ClickHouseClient,
  { cluster, table, signal }: ReplicatedTable,
): Promise<ReplicaState[]> {
  const rows = await client.rows<StateRow>({
    query: `SELECT toString(serverUUID()) AS server, zookeeper_path AS path, toString(inserts_in_queue) AS inserts,
        toString(toUnixTimestamp(inserts_oldest_time)) AS oldest, toString(log_pointer) AS pointer, toString(log_max_index) AS log_end
      FROM clusterAllReplicas(${quoteIdentifier(cluster)}, system.replicas)
      WHERE database = {database:String} AND table = {table:String} AND NOT is_session_expired`,
    parameters: { database: optionsOf(client).database, table: `${table}_local` },
    settings: EACH_ALONE,
    signal,
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

async function serverTime(client: ClickHouseClient, signal: AbortSignal | undefined): Promise<number> {
  const rows = await client.rows<[number]>({ query: 'SELECT toUnixTimestamp(now())', signal });
  return Number(rows[0]?.[0]);
}

/** Reads an expression from the selected rows of each replica that answers, whether it has all rows or not. */
function readAnswers<T>(client: ClickHouseClient, read: RowSelection, value: string): Promise<Answer<T>[]> {
  return client.rows<Answer<T>>({
    query: `SELECT toString(serverUUID()) AS server, groupArray(${value}) AS found
      FROM clusterAllReplicas(${quoteIdentifier(read.cluster)}, currentDatabase(), ${read.table}_local) WHERE ${read.where}`,
    parameters: read.parameters,
    settings: { ...read.settings, ...EACH_ALONE },
    signal: read.signal,
  });
}

/**
 * Finds the replicas that have all rows which were acknowledged before `since`. A read that follows and gets the answers of one of them in
 * each shard has missed none of these rows.
 *
 * @returns undefined when a shard has no such replica within `waitMs`
 */
export async function findCompleteReplicas(
  client: ClickHouseClient,
  table: ReplicatedTable,
): Promise<CompleteReplicas | undefined> {
  const { waitMs = WAIT_MS, retryMs = RETRY_MS, signal } = table;
  const shards = await countShards(client, table);
  const since = table.since ?? (await serverTime(client, signal));
  const logEnds = new Map<string, number>();
  const readComplete = async (acceptsEmptyLogs: boolean) => {
    const states = await readStates(client, table);
    // For each shard, the first read in which one of its replicas answers counts: during earlier reads its log was at most as long.
    for (const [path, replicas] of groupBy(states, (state) => state.path))
      if (!logEnds.has(path)) logEnds.set(path, Math.max(...replicas.map(({ logEnd }) => logEnd)));
    return caughtUp(states, since, logEnds, acceptsEmptyLogs);
  };
  const shardsOf = (some: readonly ReplicaState[]) => new Set(some.map(({ path }) => path)).size;
  const startedMs = performance.now();
  let waitedMs = 0;
  let complete = await readComplete(false);
  while (shardsOf(complete) < shards) {
    if (waitedMs >= waitMs) return undefined;
    await delay(retryMs, undefined, { signal });
    // Timers may end a fraction of a millisecond early.
    waitedMs = Math.ceil(performance.now() - startedMs);
    complete = await readComplete(waitedMs >= EMPTY_LOG_MS);
  }
  return (servers) => shardsOf(complete.filter(({ server }) => servers.has(server))) === shards;
}

/** @throws Error when a shard has no replica within `waitMs` that has all rows and answers */
async function readCompleteAnswers<T>(client: ClickHouseClient, read: RowSelection, value: string) {
  const isComplete = await findCompleteReplicas(client, read);
  const answers = isComplete === undefined ? [] : await readAnswers<T>(client, read, value);
  if (isComplete?.(new Set(answers.map(([server]) => server))) !== true)
    throw new Error(`no replica of a shard of ${read.cluster} is known to have all rows of ${read.table}`);
  return answers;
}

/**
 * Reads an expression from the selected rows of every replica that answers, of every shard. A single replica may lack rows that another one
 * has acknowledged. So at least one replica of each shard must have all rows that were acknowledged before the read, and must answer.
 *
 * @returns the distinct values
 * @throws Error when a shard has no such replica within `waitMs`: the caller retries
 */
export async function readEveryReplica(client: ClickHouseClient, read: ReplicaRead): Promise<ReadonlySet<string>> {
  const answers = await readCompleteAnswers<string>(client, read, read.value);
  return new Set(answers.flatMap(([, values]) => values));
}

type RowAnswer = Answer<readonly string[]>;

function rowText({ columns }: ReplicaRowsRead): string {
  return `[${columns.map((column) => `toString(${column})`).join(', ')}]`;
}

function rowsByKey({ columns, key }: ReplicaRowsRead, answers: readonly RowAnswer[]): Map<string, readonly string[]> {
  const position = columns.indexOf(key);
  return new Map(answers.flatMap(([, rows]) => rows.map((row) => [row[position] ?? '', row])));
}

/** Reads rows from each replica that answers, in one statement, whether the replica has all rows or not. */
export async function readReplicaRows(client: ClickHouseClient, read: ReplicaRowsRead): Promise<ReplicaRows> {
  const answers = await readAnswers<readonly string[]>(client, read, rowText(read));
  return { rows: rowsByKey(read, answers), servers: new Set(answers.map(([server]) => server)) };
}

/**
 * Finds rows that a read of one replica has not found, on the others. If some of them are still missing, at least one replica of each shard
 * must have all rows that were acknowledged before the read, as for {@link readEveryReplica}: so rows that are missing in a result do not
 * exist.
 *
 * @param count number of the rows to find
 * @returns the rows by their keys
 * @throws MissingRowsError when rows are missing, and a shard has no such replica within `waitMs`, or ClickHouse does not answer; what the
 *   statement caused is thrown as it is
 */
export async function findOnReplicas(
  client: ClickHouseClient,
  read: ReplicaRowsRead,
  count: number,
): Promise<Map<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  const add = (answers: readonly RowAnswer[]) => {
    for (const [key, row] of rowsByKey(read, answers)) found.set(key, row);
  };
  let { since } = read;
  try {
    // Usually one of the replicas has them, whether the others are behind or not.
    add(await readAnswers(client, read, rowText(read)));
    if (found.size === count) return found;
    since ??= await serverTime(client, read.signal);
    add(await readCompleteAnswers(client, { ...read, since }, rowText(read)));
  } catch (err) {
    if (!isInfrastructureError(err)) throw err;
    throw new MissingRowsError(found, err, since);
  }
  return found;
}
