import { type ClickHouseClient, dateTimeText } from '@waymark/clickhouse';
import { eventIdTime } from '@waymark/contract';
import { CLICK_COLUMNS, type EventRow } from '@waymark/event-format';

const TIMESTAMP = CLICK_COLUMNS.indexOf('timestamp');
const CLICK_ID = CLICK_COLUMNS.indexOf('click_id');
const CLICKS = CLICK_COLUMNS.map((name) => (name === 'timestamp' ? 'toUnixTimestamp64Milli(timestamp)' : name)).join(
  ', ',
);
const KEYS_PER_READ = 2000;
/** An invoice may have 255 characters of nine bytes in the URL of a statement, of at most a megabyte. */
const INVOICES_PER_READ = 400;
const SETTINGS = { optimize_use_projections: 0 } as const;

/** Looks up stored events by key. @param workspace `UInt64` as text */
export function createStoredEvents(clickhouse: ClickHouseClient, workspace: string) {
  async function inParts<K, R>(
    keys: readonly K[],
    read: (part: readonly K[]) => Promise<readonly R[]>,
    keysPerRead = KEYS_PER_READ,
  ): Promise<R[]> {
    const found: R[] = [];
    for (let start = 0; start < keys.length; start += keysPerRead) {
      found.push(...(await read(keys.slice(start, start + keysPerRead))));
    }
    return found;
  }

  return {
    /** The rows of stored clicks, by click id. */
    async clicks(ids: readonly string[]): Promise<ReadonlyMap<string, EventRow>> {
      const rows = await inParts([...new Set(ids)], (part) =>
        clickhouse.rows<string[]>({
          query: `SELECT ${CLICKS} FROM click_events
WHERE workspace_id = {workspace:UInt64} AND timestamp IN {times:Array(DateTime64(3, 'UTC'))} AND click_id IN {ids:Array(String)}`,
          parameters: { workspace, times: part.map((id) => dateTimeText(eventIdTime(id) ?? 0)), ids: part },
          settings: SETTINGS,
        }),
      );
      const asRow = (values: string[]) => values.map((value, at) => (at === TIMESTAMP ? Number(value) : value));
      return new Map(rows.map((values) => [values[CLICK_ID] ?? '', asRow(values)]));
    },

    /** Click ids by their aliases. */
    async aliases(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const rows = await inParts([...new Set(ids)], (part) =>
        clickhouse.rows<[string, string]>({
          query: `SELECT alias, click_id FROM click_aliases
WHERE workspace_id = {workspace:UInt64} AND alias IN {aliases:Array(String)}`,
          parameters: { workspace, aliases: part },
        }),
      );
      return new Map(rows);
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

    /** The pairs of customer and link that have a sale, as `customer/link`. @param customers like the result `UInt64` as text */
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
