import type { ClickHouseClient } from '@waymark/clickhouse';
import { chunksOf, formatResourceId } from '@waymark/contract';
import { EVENT_ROW_VERSION, EVENT_TABLES } from '@waymark/event-format';
import {
  LATEST_LEAD_MS,
  latestLeadKey,
  type PastEventsOptions,
  type PastRow,
  removeLatestLead,
} from '@waymark/event-queue';

const LEAD = EVENT_TABLES.lead.columns[EVENT_ROW_VERSION];
const [TIME, CUSTOMER, NAME] = [LEAD.indexOf('timestamp'), LEAD.indexOf('customer_id'), LEAD.indexOf('event_name')];
/** Tolerance for clocks that differ. */
const AHEAD_MS = 600_000;
const CUSTOMERS_PER_READ = 2000;

export interface LatestLeadsDeps {
  /** The queue shard of the workspace. */
  readonly shard: PastEventsOptions['shard'];
  readonly clickhouse: ClickHouseClient;
  /** `UInt64` as text. */
  readonly workspaceNumber: string;
  readonly now: () => number;
}

/**
 * Redis caches the latest lead of a customer, to which a sale is attributed. This removes the entries of customers with an imported lead
 * that may be later, so that the next sale reads the latest lead from ClickHouse. An entry whose lead is not in ClickHouse yet stays: the
 * writer is about to store it.
 *
 * @param rows rows of the batch; only recent leads matter
 */
export async function evictLatestLeads(
  { shard, clickhouse, workspaceNumber, now }: LatestLeadsDeps,
  rows: readonly PastRow[],
): Promise<void> {
  const workspaceId = formatResourceId('workspace', workspaceNumber);
  const sinceMs = now() - LATEST_LEAD_MS - AHEAD_MS;
  const customers = new Map<string, string>();
  for (const { kind, row } of rows) {
    if (kind !== 'lead' || Number(row[TIME]) < sinceMs) continue;
    const customer = String(row[CUSTOMER]);
    const id = formatResourceId('customer', customer);
    customers.set(latestLeadKey(workspaceId, id), customer);
    customers.set(latestLeadKey(workspaceId, id, String(row[NAME])), customer);
  }
  for (const some of chunksOf([...customers.keys()], CUSTOMERS_PER_READ)) {
    const values = await shard.mget(some);
    const kept = some.flatMap((key, index) => {
      const click = values[index];
      return typeof click === 'string' ? [{ key, click, customer: customers.get(key) ?? '' }] : [];
    });
    if (kept.length === 0) continue;
    const stored = await clickhouse.rows<[string, string]>({
      query: `SELECT DISTINCT toString(customer_id), toString(click_id) FROM lead_events
WHERE workspace_id = {workspace:UInt64} AND customer_id IN {customers:Array(UInt64)}`,
      parameters: { workspace: workspaceNumber, customers: kept.map(({ customer }) => BigInt(customer)) },
    });
    const isStored = new Set(stored.map(([customer, click]) => `${customer} ${click}`));
    for (const { key, click, customer } of kept) {
      if (isStored.has(`${customer} ${click}`)) await removeLatestLead(shard, key, click);
    }
  }
}
