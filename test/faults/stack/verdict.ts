import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import type { Ledger } from './traffic.js';

/** Differences between the store and the acknowledged events. Everything but the counts must be empty or zero. */
export interface Verdict {
  readonly acknowledged: number;
  readonly lost: string[];
  readonly twice: string[];
  readonly viewsDiffer: string[];
}

interface Counted {
  readonly name: string;
  readonly times: number;
}

/** Compares a ledger with the base tables and the views. */
export class Judge {
  readonly #client: ClickHouseClient;
  readonly #workspace: string;

  constructor(
    clickhouseUrl: string,
    private readonly ledger: Ledger,
  ) {
    this.#client = createClient({ url: clickhouseUrl, database: 'waymark', request_timeout: 60_000 });
    this.#workspace = parseResourceId('workspace', ledger.workspaceId) ?? '';
  }

  /** Waits until all acknowledged events are in the store, or for the timeout, then compares. The queues must be empty. */
  async judge(timeoutMs: number): Promise<Verdict> {
    await waitFor(async () => (await this.#lost()).length === 0, { timeoutMs, what: 'every acknowledged event' }).catch(
      () => undefined,
    );
    return {
      acknowledged: this.ledger.clickIds.size + this.ledger.leadCustomers.size + this.ledger.saleInvoices.size,
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
      ...missing(this.ledger.clickIds, clicks),
      ...missing(this.ledger.leadCustomers, leads),
      ...missing(this.ledger.saleInvoices, sales),
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
    const [truth] = await this.#rows<Record<string, string>>(base);
    const different: string[] = [];
    for (const table of ['link_totals', 'workspace_slots', 'link_days']) {
      const [sums] = await this.#rows<Record<string, string>>(view(table));
      if (JSON.stringify(sums) !== JSON.stringify(truth)) {
        different.push(`${table}: ${JSON.stringify(sums)} instead of ${JSON.stringify(truth)}`);
      }
    }
    return different;
  }
}
