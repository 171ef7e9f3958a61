import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import type { SentEvents } from './traffic.js';

/** How ClickHouse differs from the acknowledged events. All lists must be empty. */
export interface ComparisonResult {
  /** Number of acknowledged events. */
  readonly acknowledged: number;
  readonly lost: string[];
  readonly twice: string[];
  readonly viewsDiffer: string[];
}

interface Counted {
  readonly name: string;
  readonly times: number;
}

class StoreComparison {
  readonly #client: ClickHouseClient;
  readonly #workspace: string;

  constructor(
    clickhouseUrl: string,
    private readonly sentEvents: SentEvents,
    database: string,
  ) {
    this.#client = createClickHouseClient({ url: clickhouseUrl, database, requestTimeoutMs: 60_000 });
    this.#workspace = parseResourceId('workspace', sentEvents.workspaceId) ?? '';
  }

  async run(timeoutMs: number): Promise<ComparisonResult> {
    await waitFor(async () => (await this.#lost()).length === 0, { timeoutMs, what: 'every acknowledged event' }).catch(
      () => undefined,
    );
    return {
      acknowledged:
        this.sentEvents.clickIds.size + this.sentEvents.leadCustomers.size + this.sentEvents.saleInvoices.size,
      lost: await this.#lost(),
      twice: await this.#twice(),
      viewsDiffer: await this.#viewsDiffer(),
    };
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #rows<Row>(query: string): Promise<Row[]> {
    const result = await this.#client.query({
      query,
      format: 'JSONEachRow',
      query_params: { workspace: this.#workspace },
    });
    return result.json<Row>();
  }

  #clicks(): Promise<Counted[]> {
    return this.#rows(`SELECT toString(click_id) AS name, toUInt32(count()) AS times FROM click_events
      WHERE workspace_id = {workspace:UInt64} GROUP BY name`);
  }

  /** Leads by the customer's external id: the traffic reports one lead per customer. */
  #leads(): Promise<Counted[]> {
    return this.#rows(`SELECT customers.external_id AS name, toUInt32(count()) AS times FROM lead_events
      INNER JOIN (SELECT id, any(external_id) AS external_id FROM customers WHERE workspace_id = {workspace:UInt64} GROUP BY id)
        AS customers ON lead_events.customer_id = customers.id
      WHERE workspace_id = {workspace:UInt64} GROUP BY name`);
  }

  #sales(): Promise<Counted[]> {
    return this.#rows(`SELECT invoice_id AS name, toUInt32(count()) AS times FROM sale_events
      WHERE workspace_id = {workspace:UInt64} GROUP BY name`);
  }

  async #lost(): Promise<string[]> {
    const [clicks, leads, sales] = await Promise.all([this.#clicks(), this.#leads(), this.#sales()]);
    const missing = (acknowledged: Set<string>, stored: Counted[]) => {
      const present = new Set(stored.map((row) => row.name));
      return [...acknowledged].filter((name) => !present.has(name));
    };
    return [
      ...missing(this.sentEvents.clickIds, clicks),
      ...missing(this.sentEvents.leadCustomers, leads),
      ...missing(this.sentEvents.saleInvoices, sales),
    ];
  }

  async #twice(): Promise<string[]> {
    const stored = await Promise.all([this.#clicks(), this.#leads(), this.#sales()]);
    return stored.flat().flatMap((row) => (row.times > 1 ? [`${row.name} × ${row.times}`] : []));
  }

  async #viewsDiffer(): Promise<string[]> {
    const base = `SELECT
      (SELECT count() FROM click_events WHERE workspace_id = {workspace:UInt64}) AS clicks,
      (SELECT count() FROM lead_events WHERE workspace_id = {workspace:UInt64}) AS leads,
      (SELECT count() FROM sale_events WHERE workspace_id = {workspace:UInt64}) AS sales,
      (SELECT sum(amount) FROM sale_events WHERE workspace_id = {workspace:UInt64}) AS sale_amount`;
    const view = (table: string) =>
      `SELECT sum(clicks) AS clicks, sum(leads) AS leads, sum(sales) AS sales, sum(sale_amount) AS sale_amount
       FROM ${table} WHERE workspace_id = {workspace:UInt64}`;
    const [counts] = await this.#rows<Record<string, string>>(base);
    const different: string[] = [];
    for (const table of ['link_totals', 'workspace_slots', 'link_days']) {
      const [sums] = await this.#rows<Record<string, string>>(view(table));
      if (JSON.stringify(sums) !== JSON.stringify(counts)) {
        different.push(`${table}: ${JSON.stringify(sums)} instead of ${JSON.stringify(counts)}`);
      }
    }
    return different;
  }
}

/** Waits until all acknowledged events are in ClickHouse, or for a minute, then compares. The queues must be empty. */
export async function compareWithStore(
  clickhouseUrl: string,
  sentEvents: SentEvents,
  database = 'waymark',
): Promise<ComparisonResult> {
  const comparison = new StoreComparison(clickhouseUrl, sentEvents, database);
  try {
    return await comparison.run(60_000);
  } finally {
    await comparison.close();
  }
}
