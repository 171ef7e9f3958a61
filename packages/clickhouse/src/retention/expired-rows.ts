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
const READ_SECONDS_MAX = 60;

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
  const byDays = new Map<number, bigint[]>();
  for (const { workspace, days } of limits) {
    if (days !== undefined) byDays.set(days, [...(byDays.get(days) ?? []), BigInt(workspace)]);
  }
  if (byDays.size === 0) return undefined;
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const parameters: Record<string, string | readonly bigint[]> = {};
  const alternatives = [...byDays].map(([days, workspaces], index) => {
    const [ids, until] = [`${prefix}Ids${index}`, `${prefix}Until${index}`];
    parameters[ids] = workspaces;
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
  nowMs: number,
): Promise<ExpiredRows[]> {
  const { rows, addresses } = selections(expiring, rules, nowMs);
  if (rows === undefined && addresses === undefined) return [];
  const [expiredRow, expiredAddress] = [rows?.condition ?? '0', addresses?.condition ?? '0'];
  const found = await client.rows<[string, string, string]>({
    query: `SELECT toString(workspace_id), toString(countIf(${expiredRow})), toString(countIf(${expiredAddress} AND NOT ${expiredRow}))
FROM ${expiring.table} WHERE ${expiredRow} OR ${expiredAddress} GROUP BY workspace_id ORDER BY workspace_id`,
    parameters: { ...rows?.parameters, ...addresses?.parameters },
    settings: { max_execution_time: READ_SECONDS_MAX, optimize_use_projections: 0, log_comment: 'retention' },
  });
  const { table } = expiring;
  return found.map(([workspace, count, emptied]) => ({
    ...{ workspace, table },
    rows: Number(count),
    addresses: Number(emptied),
  }));
}

function* groupsOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += WORKSPACES_AT_ONCE)
    yield all.slice(start, start + WORKSPACES_AT_ONCE);
}

/** Counts the expired rows and addresses that are still stored, by table and workspace. Changes nothing. */
export async function countExpired(
  client: ClickHouseClient,
  rules: readonly WorkspaceRetention[],
  { nowMs }: Pick<ExpiredRowsOptions, 'nowMs'>,
): Promise<readonly ExpiredRows[]> {
  const counts: ExpiredRows[] = [];
  for (const some of groupsOf(rules)) {
    for (const expiring of EXPIRING) counts.push(...(await countIn(client, expiring, some, nowMs)));
  }
  return counts;
}

/** The tables with a mutation that is not done: another mutation would rewrite them once more for the same rows. */
async function tablesInMutation(client: ClickHouseClient, cluster: string | undefined): Promise<ReadonlySet<string>> {
  const suffix = cluster === undefined ? '' : '_local';
  const rows = await client.rows<[string]>({
    query: renderMigration(
      `SELECT DISTINCT table FROM \${nodes:system.mutations}
WHERE database = currentDatabase() AND table IN {names:Array(String)} AND NOT is_done`,
      { cluster },
    ),
    parameters: { names: EXPIRING.map(({ table }) => table + suffix) },
  });
  return new Set(rows.map(([table]) => table.slice(0, table.length - suffix.length)));
}

/**
 * Starts the mutations that delete expired rows and empty expired addresses: one for each table and up to a thousand workspaces, and none
 * for tables without expired rows. ClickHouse executes them in the background.
 *
 * @param counts the result of {@link countExpired}
 * @returns `changed`: tables for which mutations were started; `waiting`: tables with expired rows, for which an earlier mutation must end
 *   first
 */
export async function deleteExpired(
  client: ClickHouseClient,
  rules: readonly WorkspaceRetention[],
  counts: readonly ExpiredRows[],
  { cluster, nowMs }: ExpiredRowsOptions,
): Promise<{ readonly changed: readonly string[]; readonly waiting: readonly string[] }> {
  const busy = await tablesInMutation(client, cluster);
  const [changed, waiting] = [new Set<string>(), new Set<string>()];
  for (const expiring of EXPIRING) {
    const { table } = expiring;
    const affected = new Set(counts.flatMap((one) => (one.table === table ? [one.workspace] : [])));
    for (const some of groupsOf(rules.filter(({ workspace }) => affected.has(workspace)))) {
      if (busy.has(table)) {
        waiting.add(table);
        continue;
      }
      const { rows, addresses } = selections(expiring, some, nowMs);
      const commands = [
        ...(rows === undefined ? [] : [`DELETE WHERE ${rows.condition}`]),
        ...(addresses === undefined ? [] : [`UPDATE ip = '' WHERE ${addresses.condition}`]),
      ];
      await client.command({
        query: renderMigration(`ALTER TABLE ${table}\${local} \${cluster} ${commands.join(', ')}`, { cluster }),
        query_params: { ...rows?.parameters, ...addresses?.parameters },
        clickhouse_settings: { mutations_sync: '0' },
      });
      changed.add(table);
    }
  }
  return { changed: [...changed], waiting: [...waiting] };
}
