import { type ClickHouseClient, clickParameters, clickRowOf, findOnReplicas, STORED_CLICKS } from '@waymark/clickhouse';
import { chunksOf, eventIdTime } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';

/** A table whose rows are looked up by one of the columns. */
interface KeyedTable {
  readonly table: string;
  readonly columns: readonly string[];
  readonly key: string;
  readonly where: string;
}
const ALIASES: KeyedTable = {
  table: 'click_aliases',
  columns: ['alias', 'click_id'],
  key: 'alias',
  where: 'workspace_id = {workspace:UInt64} AND alias IN {aliases:Array(String)}',
};
const KEYS_PER_READ = 2000;
/** An invoice id may have 255 characters, each up to nine bytes in the URL of a statement, which may have a megabyte. */
const INVOICES_PER_READ = 400;
const SETTINGS = { optimize_use_projections: 0 } as const;

/**
 * Looks up stored events by key. On a cluster, clicks and aliases that the replica which is read lacks are looked up on all of them: they were
 * stored a moment ago.
 *
 * @param workspace `UInt64` as text
 * @param cluster name of the ClickHouse cluster; undefined for a single node
 */
export function createStoredEvents(clickhouse: ClickHouseClient, workspace: string, cluster?: string) {
  async function inParts<K, R>(
    keys: readonly K[],
    read: (part: readonly K[]) => Promise<readonly R[]>,
    keysPerRead = KEYS_PER_READ,
  ): Promise<R[]> {
    const found: R[] = [];
    for (const part of chunksOf(keys, keysPerRead)) found.push(...(await read(part)));
    return found;
  }

  /**
   * Reads rows by a column. On a cluster, keys that one replica lacks are read from all of them.
   *
   * @throws MissingRowsError when it is not known whether the missing keys have rows, because replicas are behind or away
   */
  async function byKey(
    keys: readonly string[],
    { table, columns, key, where }: KeyedTable,
    parametersOf: (part: readonly string[]) => Record<string, unknown>,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const position = columns.indexOf(key);
    const read = async (part: readonly string[]) => {
      const query = `SELECT ${columns.join(', ')} FROM ${table} WHERE ${where}`;
      const rows = await clickhouse.rows<string[]>({ query, parameters: parametersOf(part), settings: SETTINGS });
      const found = new Set(rows.map((row) => row[position]));
      const missing = part.filter((one) => !found.has(one));
      if (cluster === undefined || missing.length === 0) return rows;
      const onOthers = { cluster, table, columns, key, where, parameters: parametersOf(missing), settings: SETTINGS };
      return [...rows, ...(await findOnReplicas(clickhouse, onOthers, missing.length)).values()];
    };
    const rows = await inParts([...new Set(keys)], read);
    return new Map(rows.map((row) => [row[position] ?? '', row]));
  }

  return {
    /** The rows of stored clicks, by click id. */
    async clicks(ids: readonly string[]): Promise<ReadonlyMap<string, EventRow>> {
      const timed = (clickId: string) => ({ clickId, timeMs: eventIdTime(clickId) ?? 0 });
      const rows = await byKey(ids, STORED_CLICKS, (part) => clickParameters(workspace, part.map(timed)));
      return new Map([...rows].map(([id, row]) => [id, clickRowOf(row)]));
    },

    /** Click ids by their aliases. */
    async aliases(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const rows = await byKey(ids, ALIASES, (aliases) => ({ workspace, aliases }));
      return new Map([...rows].map(([alias, [, clickId = '']]) => [alias, clickId]));
    },

    /** The event id of the first sale with each invoice id. */
    async invoices(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const read = (part: readonly string[]) =>
        clickhouse.rows<[string, string]>({
          query: `SELECT invoice_id, argMin(event_id, (timestamp, event_id)) FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND invoice_id IN {invoices:Array(String)} GROUP BY invoice_id`,
          parameters: { workspace, invoices: part },
          settings: SETTINGS,
        });
      return new Map(await inParts([...new Set(ids)], read, INVOICES_PER_READ));
    },

    /** The pairs of customer and link that have a sale, as `customer/link`. Customers and links are `UInt64` as text. */
    async buyers(customers: readonly string[]): Promise<ReadonlySet<string>> {
      const rows = await inParts([...new Set(customers)], (part) =>
        clickhouse.rows<[string, string]>({
          query: `SELECT DISTINCT customer_id, link_id FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND customer_id IN {customers:Array(UInt64)}`,
          parameters: { workspace, customers: part.map(BigInt) },
          settings: SETTINGS,
        }),
      );
      return new Set(rows.map(([customer, link]) => `${customer}/${link}`));
    },
  };
}
export type StoredEvents = ReturnType<typeof createStoredEvents>;
