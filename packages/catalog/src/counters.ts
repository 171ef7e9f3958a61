import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId, parseResourceId, type ResourceKind } from '@waymark/contract';
import { numberOf } from './kind.js';
import { queryRows } from './query-rows.js';

const IDS_PER_READ = 500;

/** Counters of a link, made of its events (spec 9). */
export interface LinkCounters {
  readonly clicks: number;
  readonly leads: number;
  readonly conversions: number;
  readonly sales: number;
  /** Cents of USD. */
  readonly saleAmount: number;
  readonly lastClicked: string | null;
}

export const NO_LINK_COUNTERS: LinkCounters = {
  clicks: 0,
  leads: 0,
  conversions: 0,
  sales: 0,
  saleAmount: 0,
  lastClicked: null,
};

/** Totals of a customer. */
export interface CustomerTotals {
  readonly sales: number;
  /** Cents of USD. */
  readonly saleAmount: number;
  readonly firstSaleAt: string | null;
}

export const NO_CUSTOMER_TOTALS: CustomerTotals = { sales: 0, saleAmount: 0, firstSaleAt: null };

const LINK_COUNTERS = `
SELECT link_id, sum(clicks), sum(leads), sum(conversions), sum(sales), sum(sale_amount),
  toUnixTimestamp64Milli(max(last_clicked))
FROM link_totals
WHERE workspace_id = {workspace:UInt64} AND link_id IN ({ids:Array(UInt64)})
GROUP BY link_id`;

const CUSTOMER_TOTALS = `
SELECT customer_id, sum(sales), sum(sale_amount), ifNull(toUnixTimestamp64Milli(min(first_sale_at)), 0)
FROM customer_totals
WHERE workspace_id = {workspace:UInt64} AND customer_id IN ({ids:Array(UInt64)})
GROUP BY customer_id`;

/** ISO time of epoch milliseconds; the epoch itself stands for never. */
function isoTime(ms: number): string | null {
  return ms > 0 ? new Date(ms).toISOString() : null;
}

/** Reads the totals that materialized views keep. They are never cached: what a caller reads includes its last event. */
export function createCounters(clickhouse: ClickHouseClient) {
  async function read(query: string, resource: ResourceKind, workspaceId: string, ids: readonly string[]) {
    const numbers = [...new Set(ids)].flatMap((id) => parseResourceId(resource, id) ?? []);
    const reads: Promise<[string, ...string[]][]>[] = [];
    for (let start = 0; start < numbers.length; start += IDS_PER_READ) {
      reads.push(readChunk(query, workspaceId, numbers.slice(start, start + IDS_PER_READ)));
    }
    const rows = (await Promise.all(reads)).flat();
    return rows.map(([id, ...totals]) => [formatResourceId(resource, id), totals.map(Number)] as const);
  }

  function readChunk(query: string, workspaceId: string, numbers: readonly string[]) {
    const parameters = { workspace: numberOf('workspace', workspaceId), ids: numbers.map(BigInt) };
    return queryRows<[string, ...string[]]>(clickhouse, { query, parameters });
  }

  return {
    /** Links without events are absent. */
    async links(workspaceId: string, ids: readonly string[]): Promise<Map<string, LinkCounters>> {
      const rows = await read(LINK_COUNTERS, 'link', workspaceId, ids);
      return new Map(
        rows.map(([id, [clicks = 0, leads = 0, conversions = 0, sales = 0, saleAmount = 0, lastClickedMs = 0]]) => [
          id,
          { clicks, leads, conversions, sales, saleAmount, lastClicked: isoTime(lastClickedMs) },
        ]),
      );
    },

    /** Customers without events are absent. */
    async customers(workspaceId: string, ids: readonly string[]): Promise<Map<string, CustomerTotals>> {
      const rows = await read(CUSTOMER_TOTALS, 'customer', workspaceId, ids);
      return new Map(
        rows.map(([id, [sales = 0, saleAmount = 0, firstSaleMs = 0]]) => [
          id,
          { sales, saleAmount, firstSaleAt: isoTime(firstSaleMs) },
        ]),
      );
    },
  };
}
export type Counters = ReturnType<typeof createCounters>;
