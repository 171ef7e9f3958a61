import { ClickHouseError } from '@clickhouse/client';
import { chunksOf, groupBy } from '@waymark/contract';
import type { ClickHouseClient } from '../client.js';
import { renderMigration } from '../migrations/render.js';
import { EXPIRING, WITH_ADDRESSES } from './retention.js';

/** After how many days a workspace deletes events and empties addresses of visitors; undefined: by the setting of the installation. */
export interface WorkspaceRetention {
  /** The UInt64 of the workspace's id as decimal text. */
  readonly workspace: string;
  readonly eventDays?: number | undefined;
  readonly addressDays?: number | undefined;
}

/** The expired rows of a workspace in one table. */
export interface ExpiredRows {
  readonly workspace: string;
  readonly table: string;
  /** Number of rows to delete. */
  readonly rows: number;
  /** Number of other rows whose address is to be emptied. */
  readonly addresses: number;
}

/** What is still stored although it has expired. */
export interface ExpiredCounts {
  readonly counts: readonly ExpiredRows[];
  /** Tables in which the rows of some workspaces are too many to be counted in time. */
  readonly uncounted: readonly { readonly table: string; readonly workspaces: readonly string[] }[];
  readonly failed: readonly FailedTable[];
}

/** A table that could not be read or changed. */
export interface FailedTable {
  readonly table: string;
  readonly err: unknown;
}

/** A table with a mutation that is not done. */
export interface UnfinishedMutation {
  readonly table: string;
  /** ISO 8601 in UTC: when the oldest of its unfinished mutations was started. */
  readonly since: string;
  /** Why ClickHouse could not carry out one of them the last time it tried; empty if none has failed. */
  readonly failure: string;
}

/** What {@link deleteExpired} has started, and what not. */
export interface DeletionReport {
  /** Tables for which mutations were started. */
  readonly changed: readonly string[];
  /** Tables with expired rows, for which an earlier mutation must end first. */
  readonly waiting: readonly UnfinishedMutation[];
  readonly failed: readonly FailedTable[];
}

/** Options of {@link deleteExpired}. */
export interface ExpiredRowsOptions {
  readonly cluster?: string | undefined;
  /** Time of the run, epoch milliseconds. */
  readonly nowMs: number;
}

type Expiring = (typeof EXPIRING)[number];

const DAY_MS = 86_400_000;
/** Maximum number of workspaces in one statement, because their numbers are sent in its URL, 24 bytes each. */
const WORKSPACES_AT_ONCE = 1000;
/** Below the limit of the client, so that no read goes on in ClickHouse after its answer has been given up. */
const READ_SECONDS_MAX = 20;
/** ClickHouse's code for a read that has taken longer than it may. */
const TIMEOUT_EXCEEDED = '159';

/** A SQL condition with the values of its parameters. */
interface Selection {
  readonly condition: string;
  readonly parameters: Readonly<Record<string, string | readonly bigint[]>>;
}

/**
 * Selects the rows that are older than the limit of their workspace. Limits are at the start of a day (UTC), so that events and the
 * roll-ups by quarter of an hour and by day expire together. Undefined when no workspace has a limit.
 *
 * @param time the time column of the table
 * @param prefix of the names of the parameters
 */
function rowsBefore(
  time: string,
  limits: readonly { readonly workspace: string; readonly days: number | undefined }[],
  prefix: string,
  nowMs: number,
): Selection | undefined {
  const limited = limits.flatMap(({ workspace, days }) =>
    days === undefined ? [] : [{ workspace: BigInt(workspace), days }],
  );
  if (limited.length === 0) return undefined;
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const parameters: Record<string, string | readonly bigint[]> = {};
  const alternatives = [...groupBy(limited, ({ days }) => days)].map(([days, some], index) => {
    const [ids, until] = [`${prefix}Ids${index}`, `${prefix}Until${index}`];
    parameters[ids] = some.map(({ workspace }) => workspace);
    parameters[until] = new Date(today - days * DAY_MS).toISOString().slice(0, 19).replace('T', ' ');
    return `(workspace_id IN {${ids}:Array(UInt64)} AND ${time} < {${until}:DateTime('UTC')})`;
  });
  return { condition: `(${alternatives.join(' OR ')})`, parameters };
}

/** Selects the expired rows of a table, and the rows whose address has expired and is not emptied yet. */
function selections({ table, time }: Expiring, rules: readonly WorkspaceRetention[], nowMs: number) {
  const events = rules.map(({ workspace, eventDays: days }) => ({ workspace, days }));
  const addresses = rules.map(({ workspace, addressDays: days }) => ({ workspace, days }));
  const emptied = WITH_ADDRESSES.includes(table) ? rowsBefore(time, addresses, 'a', nowMs) : undefined;
  return {
    rows: rowsBefore(time, events, 'e', nowMs),
    addresses: emptied && { ...emptied, condition: `(${emptied.condition} AND ip != '')` },
  };
}

async function countIn(
  client: ClickHouseClient,
  expiring: Expiring,
  rules: readonly WorkspaceRetention[],
  { nowMs, signal }: CountOptions,
): Promise<ExpiredRows[]> {
  const { rows, addresses } = selections(expiring, rules, nowMs);
  if (rows === undefined && addresses === undefined) return [];
  const [expiredRow, expiredAddress] = [rows?.condition ?? '0', addresses?.condition ?? '0'];
  const found = await client.rows<[string, string, string]>({
    query: `SELECT toString(workspace_id), toString(countIf(${expiredRow})), toString(countIf(${expiredAddress} AND NOT ${expiredRow}))
FROM ${expiring.table} WHERE ${expiredRow} OR ${expiredAddress} GROUP BY workspace_id ORDER BY workspace_id`,
    parameters: { ...rows?.parameters, ...addresses?.parameters },
    settings: { max_execution_time: READ_SECONDS_MAX, optimize_use_projections: 0, log_comment: 'retention' },
    signal,
  });
  const { table } = expiring;
  return found.map(([workspace, count, emptied]) => ({
    workspace,
    table,
    rows: Number(count),
    addresses: Number(emptied),
  }));
}

/** Options of {@link countExpired}. */
export interface CountOptions extends Pick<ExpiredRowsOptions, 'nowMs'> {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Counts the expired rows and addresses that are still stored, by table and workspace. Changes nothing. A table that cannot be read does not
 * prevent the others from being counted.
 *
 * @throws only the reason of the signal
 */
export async function countExpired(
  client: ClickHouseClient,
  rules: readonly WorkspaceRetention[],
  options: CountOptions,
): Promise<ExpiredCounts> {
  const counts: ExpiredRows[] = [];
  const uncounted: ExpiredCounts['uncounted'][number][] = [];
  const failed: FailedTable[] = [];
  for (const some of chunksOf(rules, WORKSPACES_AT_ONCE)) {
    for (const expiring of EXPIRING) {
      const { table } = expiring;
      try {
        counts.push(...(await countIn(client, expiring, some, options)));
      } catch (err) {
        options.signal?.throwIfAborted();
        const isTooLong = err instanceof ClickHouseError && err.code === TIMEOUT_EXCEEDED;
        if (isTooLong) uncounted.push({ table, workspaces: some.map(({ workspace }) => workspace) });
        else failed.push({ table, err });
      }
    }
  }
  return { counts, uncounted, failed };
}

/** The tables with a mutation that is not done: another mutation would rewrite them once more for the same rows. */
async function unfinishedMutations(
  client: ClickHouseClient,
  cluster: string | undefined,
): Promise<ReadonlyMap<string, UnfinishedMutation>> {
  const suffix = cluster === undefined ? '' : '_local';
  const rows = await client.rows<[string, string, string]>({
    query: renderMigration(
      `SELECT table, formatDateTime(create_time, '%FT%TZ', 'UTC') AS since, latest_fail_reason FROM \${nodes:system.mutations}
WHERE database = currentDatabase() AND table IN {names:Array(String)} AND NOT is_done`,
      { cluster },
    ),
    parameters: { names: EXPIRING.map(({ table }) => table + suffix) },
  });
  const unfinished = new Map<string, UnfinishedMutation>();
  for (const [name, since, failure] of rows) {
    const table = name.slice(0, name.length - suffix.length);
    const other = unfinished.get(table);
    unfinished.set(table, {
      table,
      since: other === undefined || since < other.since ? since : other.since,
      failure: failure || (other?.failure ?? ''),
    });
  }
  return unfinished;
}

/**
 * Starts the mutations that delete expired rows and empty expired addresses: one for each table and up to a thousand workspaces, and none
 * for tables without expired rows. ClickHouse executes them in the background. Where rows could not be counted, a mutation is started in any
 * case: it changes no part without expired rows. A mutation that cannot be started does not prevent the others.
 *
 * @param expired the result of {@link countExpired}
 */
export async function deleteExpired(
  client: ClickHouseClient,
  rules: readonly WorkspaceRetention[],
  { counts, uncounted }: Pick<ExpiredCounts, 'counts' | 'uncounted'>,
  { cluster, nowMs }: ExpiredRowsOptions,
): Promise<DeletionReport> {
  const busy = await unfinishedMutations(client, cluster);
  const [changed, waiting] = [new Set<string>(), new Set<UnfinishedMutation>()];
  const failed: FailedTable[] = [];
  for (const expiring of EXPIRING) {
    const { table } = expiring;
    const affected = new Set([
      ...counts.flatMap((one) => (one.table === table ? [one.workspace] : [])),
      ...uncounted.flatMap((one) => (one.table === table ? one.workspaces : [])),
    ]);
    const ofAffected = rules.filter(({ workspace }) => affected.has(workspace));
    for (const some of chunksOf(ofAffected, WORKSPACES_AT_ONCE)) {
      const unfinished = busy.get(table);
      if (unfinished !== undefined) {
        waiting.add(unfinished);
        continue;
      }
      const { rows, addresses } = selections(expiring, some, nowMs);
      const commands = [
        ...(rows === undefined ? [] : [`DELETE WHERE ${rows.condition}`]),
        ...(addresses === undefined ? [] : [`UPDATE ip = '' WHERE ${addresses.condition}`]),
      ];
      if (commands.length === 0) continue;
      try {
        await client.command({
          query: renderMigration(`ALTER TABLE ${table}\${local} \${cluster} ${commands.join(', ')}`, { cluster }),
          query_params: { ...rows?.parameters, ...addresses?.parameters },
          clickhouse_settings: { mutations_sync: '0' },
        });
        changed.add(table);
      } catch (err) {
        failed.push({ table, err });
      }
    }
  }
  return { changed: [...changed], waiting: [...waiting], failed };
}
