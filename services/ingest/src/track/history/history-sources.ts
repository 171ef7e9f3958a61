import type { ClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { claimsOfSale, customerClaim, type HistorySource, type HistorySubject } from '@waymark/event-queue';
import { readRows } from '../conversions/read-rows.js';

const ROWS_PER_READ = 5000;

const CUSTOMER_COUNT = `SELECT count() FROM names
WHERE kind = 'customer' AND scope = {scope:String} AND workspace_id = {workspace:UInt64}`;
/** Removed customers as well: a history may have more than there is. */
const CUSTOMER_NAMES = `SELECT DISTINCT name FROM names
WHERE kind = 'customer' AND scope = {scope:String} AND workspace_id = {workspace:UInt64} AND name > {after:String}
ORDER BY name LIMIT ${ROWS_PER_READ}`;

const SALE_COUNT = 'SELECT count() FROM sale_events WHERE workspace_id = {workspace:UInt64}';
/** \`WITH TIES\`: the rows of one time are never split between two reads. */
const SALES = `SELECT toUnixTimestamp64Milli(timestamp), customer_id, link_id, invoice_id FROM sale_events
WHERE workspace_id = {workspace:UInt64} AND timestamp > fromUnixTimestamp64Milli({after:Int64}, 'UTC')
ORDER BY timestamp LIMIT ${ROWS_PER_READ} WITH TIES`;

/** A time before every event. */
const BEGINNING_MS = '0';

/** Reads the customers and sales of a workspace from ClickHouse, page by page along the order of the tables. */
export function createHistorySources(clickhouse: ClickHouseClient): Readonly<Record<HistorySubject, HistorySource>> {
  const numberOf = (workspaceId: string) => parseResourceId('workspace', workspaceId) ?? '0';

  async function count(query: string, parameters: Readonly<Record<string, string>>): Promise<number> {
    const [row] = await readRows(clickhouse, query, parameters);
    return Number(row?.[0] ?? 0);
  }

  /** Pages of rows; the first column of the last row of a page is where the next one begins. */
  async function* pages(query: string, parameters: Readonly<Record<string, string>>, first: string) {
    for (let after = first; ; ) {
      const rows = await readRows(clickhouse, query, { ...parameters, after });
      const last = rows.at(-1)?.[0];
      if (last === undefined) return;
      yield rows;
      after = last;
    }
  }

  return {
    customers: {
      count(workspaceId) {
        const workspace = numberOf(workspaceId);
        return count(CUSTOMER_COUNT, { workspace, scope: workspace });
      },
      async *read(workspaceId) {
        const workspace = numberOf(workspaceId);
        for await (const rows of pages(CUSTOMER_NAMES, { workspace, scope: workspace }, '')) {
          yield rows.map(([name = '']) => customerClaim(workspaceId, name));
        }
      },
    },
    sales: {
      // A first sale and an invoice each.
      count: async (workspaceId) => 2 * (await count(SALE_COUNT, { workspace: numberOf(workspaceId) })),
      async *read(workspaceId) {
        const workspace = numberOf(workspaceId);
        for await (const rows of pages(SALES, { workspace }, BEGINNING_MS)) {
          yield rows.flatMap(([, customer = '0', link = '0', invoiceId = '']) =>
            claimsOfSale({ workspace, customer, link, invoiceId }),
          );
        }
      },
    },
  };
}
