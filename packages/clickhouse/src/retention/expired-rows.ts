import type { ClickHouseClient } from '../client.js';
import { renderMigration } from '../migrations/render.js';
import { EXPIRING, WITH_ADDRESSES } from './retention.js';

/** How long a workspace keeps data about visitors; undefined: as long as the installation. */
export interface WorkspaceRetention {
  /** Number of the workspace. */
  readonly workspace: string;
  readonly eventDays?: number | undefined;
  readonly addressDays?: number | undefined;
}

/** What has expired in a table: rows to delete, and others whose address is to be emptied. */
export interface ExpiredRows {
  readonly workspace: string;
  readonly table: string;
  readonly rows: number;
  readonly addresses: number;
}

export interface ExpiredRowsOptions {
  readonly cluster?: string | undefined;
  /** Time of the run, epoch milliseconds. */
  readonly nowMs: number;
}

type Expiring = (typeof EXPIRING)[number];

const DAY_MS = 86_400_000;
/** Workspaces in one statement. Their numbers are sent in its URL, 24 bytes each. */
const WORKSPACES_AT_ONCE = 1000;
const READ_SECONDS_MAX = 60;

/** A condition, and the parameters in it. */
interface Selection {
  readonly condition: string;
  readonly parameters: Readonly<Record<string, string | readonly bigint[]>>;
}

/**
 * The rows of workspaces before their limits, which are whole days (UTC), so that events and what was counted of them by the quarter of an
 * hour or by the day end at the same time. Undefined when no workspace has a limit.
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
  const [isRow, isAddress] = [rows?.condition ?? '0', addresses?.condition ?? '0'];
  const found = await client.rows<[string, string, string]>({
    query: `SELECT toString(workspace_id), toString(countIf(${isRow})), toString(countIf(${isAddress} AND NOT ${isRow}))
FROM ${expiring.table} WHERE ${isRow} OR ${isAddress} GROUP BY workspace_id ORDER BY workspace_id`,
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

/** What is stored that the workspaces should not have any more, by table and workspace. Changes nothing. */
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

/** Tables that ClickHouse is rewriting already: another mutation would rewrite them once more for the same rows. */
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
 * Deletes what has expired, with one mutation a table for up to a thousand workspaces, and none for tables without expired rows.
 * ClickHouse carries them out in the background.
 *
 * @param counts what {@link countExpired} found
 * @returns tables that are being rewritten, and tables that have to wait until an earlier mutation has ended
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
