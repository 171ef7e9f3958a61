import { createDataLoader } from '@waymark/cache';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId, parseResourceId, type ResourceKind } from '@waymark/contract';
import { keyReadSettings, queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';
import type { CatalogChange } from '../redis/catalog-changes.js';
import type { SharedTotals } from '../redis/shared-totals.js';
import { createTotalsCache, readMany } from './totals-cache.js';

/** Maximum number of ids in one read, as many as a page can have. They are sent in the URL of the query, 24 bytes each. */
const IDS_PER_READ = 1000;
/** Maximum number of concurrent reads. With more of them, fewer callers would share a read. */
const READS_MAX = 4;

/** The counters of a link's events. */
export interface LinkCounters {
  readonly clicks: number;
  readonly leads: number;
  readonly conversions: number;
  readonly sales: number;
  /** Cents of USD. */
  readonly saleAmount: number;
  /** ISO 8601 in UTC; null = never. */
  readonly lastClicked: string | null;
}

/** The counters of a link without events. */
export const NO_LINK_COUNTERS: LinkCounters = {
  clicks: 0,
  leads: 0,
  conversions: 0,
  sales: 0,
  saleAmount: 0,
  lastClicked: null,
};

/** The totals of a customer's events. */
export interface CustomerTotals {
  readonly sales: number;
  /** Cents of USD. */
  readonly saleAmount: number;
  /** ISO 8601 in UTC; null = never. */
  readonly firstSaleAt: string | null;
}

/** The totals of a customer without sales. */
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

/** ISO time of epoch milliseconds; null for 0, which means never. */
function isoTime(ms: number): string | null {
  return ms > 0 ? new Date(ms).toISOString() : null;
}

/** Dependencies of {@link createCounters}. */
export interface CountersDeps {
  /** Whether this process receives changes of totals; while it does not, nothing is cached in it. */
  readonly isSubscribed: () => boolean;
  /** The totals in Redis; undefined on a cluster, where a replica may lag behind the insert that has evicted them. */
  readonly shared: SharedTotals | undefined;
  readonly now: () => number;
}

type ReadTexts = (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** One link or customer. */
interface TotalsKey {
  readonly workspaceId: string;
  readonly id: string;
}

/**
 * Reads the totals that materialized views fill: the current totals from ClickHouse, or `cached` ones, which are outdated until the
 * eviction that follows an insert. Concurrent look-ups share a read, because concurrent requests for one list need the same links.
 */
export function createCounters(clickhouse: ClickHouseClient, { isSubscribed, shared, now }: CountersDeps) {
  function createTotals<Totals>(
    query: string,
    resource: ResourceKind,
    toTotals: (totals: readonly number[]) => Totals,
  ) {
    /** Reads totals from ClickHouse, each as a text of its columns with commas between them. */
    async function readTexts(workspaceId: string, ids: readonly string[]): Promise<Map<string, string>> {
      const numbers = ids.flatMap((id) => parseResourceId(resource, id) ?? []);
      if (numbers.length === 0) return new Map();
      const parameters = { workspace: numberOf('workspace', workspaceId), ids: numbers.map(BigInt) };
      const settings = keyReadSettings(numbers.length);
      const rows = await queryRows<[string, ...string[]]>(clickhouse, { query, parameters, settings });
      return new Map(rows.map(([number, ...totals]) => [formatResourceId(resource, number), totals.join(',')]));
    }

    const loaderOf = (readTexts: ReadTexts) =>
      createDataLoader<TotalsKey, Totals>({
        identify: ({ workspaceId, id }) => `${workspaceId}/${id}`,
        group: ({ workspaceId }) => workspaceId,
        load: async (keys) => {
          const workspaceId = keys[0]?.workspaceId ?? '';
          const ids = keys.map(({ id }) => id);
          const texts = await readTexts(workspaceId, ids);
          return new Map(
            [...texts].map(([id, text]) => [`${workspaceId}/${id}`, toTotals(text.split(',').map(Number))]),
          );
        },
        batchSizeMax: IDS_PER_READ,
        concurrentReadsMax: READS_MAX,
      });

    const loadCurrent = loaderOf(readTexts);
    const loadShared =
      shared === undefined
        ? loadCurrent
        : loaderOf((workspaceId, ids) => shared.read(workspaceId, ids, (missing) => readTexts(workspaceId, missing)));
    return {
      /** The current totals. */
      read: readMany((workspaceId, id) => loadCurrent({ workspaceId, id })),
      cache: createTotalsCache({
        readOne: (workspaceId, id) => loadShared({ workspaceId, id }),
        isSubscribed,
        now,
      }),
    };
  }

  const links = createTotals(
    LINK_COUNTERS,
    'link',
    ([clicks = 0, leads = 0, conversions = 0, sales = 0, saleAmount = 0, lastClickedMs = 0]): LinkCounters => ({
      clicks,
      leads,
      conversions,
      sales,
      saleAmount,
      lastClicked: isoTime(lastClickedMs),
    }),
  );
  const customers = createTotals(
    CUSTOMER_TOTALS,
    'customer',
    ([sales = 0, saleAmount = 0, firstSaleMs = 0]): CustomerTotals => ({
      sales,
      saleAmount,
      firstSaleAt: isoTime(firstSaleMs),
    }),
  );
  return {
    links: links.read,
    customers: customers.read,
    cached: { links: links.cache.read, customers: customers.cache.read },

    onChange({ counted, isRecounted }: CatalogChange): void {
      if (isRecounted) for (const { cache } of [links, customers]) cache.onGap();
      links.cache.onChange(counted);
      customers.cache.onChange(counted);
    },
    onGap(): void {
      links.cache.onGap();
      customers.cache.onGap();
      shared?.onGap();
    },
  };
}
export type Counters = ReturnType<typeof createCounters>;
