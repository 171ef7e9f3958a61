import { groupBy } from '@waymark/contract';
import type { CompiledQuery } from '@waymark/event-query';
import { type ClickHouseClient, optionsOf } from '../client.js';
import { renderMigration } from '../migrations/render.js';

/** How long the installation keeps data about visitors (docs/privacy.md); undefined: for ever. */
export interface Retention {
  /** Days until the IP addresses of visitors are deleted, counted from the click or conversion. */
  readonly addressDays?: number | undefined;
  /** Days until events are deleted. Counters of links and customers stay. */
  readonly eventDays?: number | undefined;
}

/** Options of {@link applyRetention}. */
export interface RetentionOptions extends Retention {
  readonly cluster?: string | undefined;
}

/** The tables whose rows expire, with their time column. Roll-ups are among them, so that counts agree with events. */
export const EXPIRING = [
  { table: 'click_events', time: 'timestamp' },
  { table: 'lead_events', time: 'timestamp' },
  { table: 'sale_events', time: 'timestamp' },
  { table: 'workspace_slots', time: 'slot' },
  { table: 'link_days', time: 'day' },
  // Aliases identify browsers, which have them in cookies, and are of no use once their click has expired.
  { table: 'click_aliases', time: 'clicked_at' },
] as const;
/** The tables with a column `ip`. */
export const WITH_ADDRESSES: readonly string[] = ['click_events', 'lead_events', 'sale_events'];

/** The comment of `click_events` once events expire. It is never removed: the totals of links go on counting the expired events. */
const HAS_EXPIRED = 'Events expire, or have expired';

/** Longest time in a TTL. The `DateTime` of an expiry ends in 2106: with 29,000 days, what is stored today would have expired in 1970. */
const TTL_DAYS_MAX = 20_000;

const DAYS_IN_TTL = /toIntervalDay\((\d+)\)/;

/** The days in the TTLs that a table of one server has now; undefined: it has no such TTL. */
interface CurrentTtl {
  readonly addressDays: number | undefined;
  readonly eventDays: number | undefined;
  /** Whether the table has the comment that says that events expire, or have expired. */
  readonly hasExpired: boolean;
}

function daysOf(ttl: string | undefined): number | undefined {
  const days = DAYS_IN_TTL.exec(ttl ?? '')?.[1];
  return days === undefined ? undefined : Number(days);
}

/** The text between the first `start` and the next `end`; undefined if either is missing. */
function between(text: string, start: string, end: string): string | undefined {
  const from = text.indexOf(start);
  const to = from < 0 ? -1 : text.indexOf(end, from + start.length);
  return to < 0 ? undefined : text.slice(from + start.length, to);
}

/** The SQL expressions for the times when rows of a table, and the addresses in them, expire; undefined: never. */
export interface Expiry {
  readonly rows: string | undefined;
  readonly addresses: string | undefined;
}

/** Reads the TTLs from a table's definition, as ClickHouse prints it. */
export function expiryOf(definition: string): Expiry {
  const end = definition.slice(definition.indexOf('ENGINE ='));
  return { rows: between(end, ' TTL ', ' SETTINGS '), addresses: between(definition, '`ip` String TTL ', ',') };
}

function readTtl(definition: string, comment: string): CurrentTtl {
  const { rows, addresses } = expiryOf(definition);
  return { addressDays: daysOf(addresses), eventDays: daysOf(rows), hasExpired: comment === HAS_EXPIRED };
}

/**
 * What the servers that can be reached have now, by table: one of them may have executed a statement that another one has refused. A server that is
 * away is compared at the next start.
 */
async function currentTtls(
  client: ClickHouseClient,
  cluster: string | undefined,
): Promise<ReadonlyMap<string, readonly CurrentTtl[]>> {
  const suffix = cluster === undefined ? '' : '_local';
  const database = cluster === undefined ? 'currentDatabase()' : '{database:String}';
  const rows = await client.rows<[string, string, string]>({
    query: renderMigration(
      `SELECT name, create_table_query, comment FROM \${nodes:system.tables}
WHERE database = ${database} AND name IN ({names:Array(String)})`,
      { cluster },
    ),
    parameters: {
      names: EXPIRING.map(({ table }) => table + suffix),
      ...(cluster === undefined ? {} : { database: optionsOf(client).database }),
    },
    settings: cluster === undefined ? {} : { skip_unavailable_shards: 1 },
  });
  const byTable = groupBy(rows, ([name]) => name.slice(0, name.length - suffix.length));
  return new Map(
    [...byTable].map(([table, found]) => [table, found.map(([, definition, comment]) => readTtl(definition, comment))]),
  );
}

/**
 * The query for whether events expire, or have ever expired: one row with 1 or 0. Where the TTL is older than the comment, the TTL says so.
 */
export const EVENT_EXPIRY_QUERY: CompiledQuery = {
  sql: `SELECT toUInt8(count() > 0) FROM system.tables
WHERE database = currentDatabase() AND name IN ('click_events', 'click_events_local')
  AND (comment = '${HAS_EXPIRED}' OR engine_full LIKE '% TTL %')`,
  params: {},
  settings: { log_comment: 'event expiry' },
};

/**
 * Notes at the table of clicks that events have expired, for reads after the TTL is removed.
 *
 * @returns the statement that was run
 */
export async function markExpired(client: ClickHouseClient, { cluster }: RetentionOptions): Promise<string> {
  const statement = `ALTER TABLE click_events\${local} \${cluster} MODIFY COMMENT '${HAS_EXPIRED}'`;
  const query = renderMigration(statement, { cluster });
  await client.command({ query });
  return query;
}

/** Whether events expire, or have ever expired. */
export async function haveEverExpired(client: ClickHouseClient): Promise<boolean> {
  const [row] = await client.rows<[number]>({ query: EVENT_EXPIRY_QUERY.sql });
  return row?.[0] === 1;
}

/** The statements that change a table's TTLs to the configured ones; none if they are equal on all servers. */
function ttlStatements(
  { table, time }: (typeof EXPIRING)[number],
  current: readonly CurrentTtl[],
  { addressDays, eventDays, cluster }: RetentionOptions,
): string[] {
  const isCluster = cluster !== undefined;
  const hasAddresses = WITH_ADDRESSES.includes(table);
  const changesAddresses = hasAddresses && current.some((one) => one.addressDays !== addressDays);
  const changesEvents = current.some((one) => one.eventDays !== eventDays);
  const alter = `ALTER TABLE ${table}\${local} \${cluster}`;
  const after = (days: number) => `toDateTime(${time}) + INTERVAL ${days} DAY`;
  // All events of a month expire together, and their rows in roll-ups with them.
  const afterMonth = (days: number) => `toDateTime(toStartOfMonth(${time})) + INTERVAL 1 MONTH + INTERVAL ${days} DAY`;
  const statements: string[] = [];
  /** ClickHouse refuses to remove a TTL that a table does not have: where some servers have removed it, all get one that deletes nothing first. */
  const remove = (days: 'addressDays' | 'eventDays', removal: string, set: (days: number) => string) => {
    if (current.some((one) => one[days] === undefined)) statements.push(`${alter} ${set(TTL_DAYS_MAX)}`);
    statements.push(`${alter} ${removal}`);
  };
  if (changesEvents || (isCluster && changesAddresses)) {
    const setTtl = (days: number) => `MODIFY TTL ${(isCluster ? afterMonth : after)(days)}`;
    if (eventDays !== undefined) statements.push(`${alter} ${setTtl(eventDays)}`);
    else if (changesEvents) remove('eventDays', 'REMOVE TTL', setTtl);
    // With `ttl_only_drop_parts`, ClickHouse would not rewrite parts to empty expired addresses.
    if (isCluster && hasAddresses)
      statements.push(`${alter} MODIFY SETTING ttl_only_drop_parts = ${addressDays === undefined ? 1 : 0}`);
  }
  // Last, because the next start compares this TTL to find out whether the others are done: a server of the cluster may be away.
  if (changesAddresses) {
    const setTtl = (days: number) => `MODIFY COLUMN ip String TTL ${after(days)}`;
    if (addressDays === undefined) remove('addressDays', 'MODIFY COLUMN ip REMOVE TTL', setTtl);
    else statements.push(`${alter} ${setTtl(addressDays)}`);
  }
  return statements;
}

/**
 * Sets the TTLs of the tables according to the settings. ClickHouse deletes expired data when it merges parts, some hours later. On a
 * cluster, events of a whole month expire together, so that ClickHouse drops the partition of the month instead of rewriting it.
 * Idempotent, so that it can run at every start, after the migrations.
 *
 * @returns the statements that were run
 */
export async function applyRetention(client: ClickHouseClient, settings: RetentionOptions): Promise<readonly string[]> {
  const { cluster } = settings;
  const lasting = (days: number | undefined) => (days === undefined ? undefined : Math.min(days, TTL_DAYS_MAX));
  const options = {
    cluster,
    addressDays: lasting(settings.addressDays),
    eventDays: lasting(settings.eventDays),
  };
  const current = await currentTtls(client, cluster);
  const clicks = current.get('click_events') ?? [];
  const doExpire = options.eventDays !== undefined || clicks.some(({ eventDays }) => eventDays !== undefined);
  // First, so that the note exists as soon as anything can expire.
  const marked = doExpire && clicks.some(({ hasExpired }) => !hasExpired) ? [await markExpired(client, options)] : [];
  const statements = EXPIRING.flatMap((expiring) => {
    const ttl = current.get(expiring.table);
    return ttl === undefined ? [] : ttlStatements(expiring, ttl, options);
  }).map((statement) => renderMigration(statement, { cluster }));
  for (const query of statements) await client.command({ query });
  return [...marked, ...statements];
}
