import type { ClickHouseClient } from '@waymark/clickhouse';
import { waitFor } from '@waymark/test-kit';
import { FAULTS } from '../fault-length.js';
import type { SentEvents } from './sent-events.js';

/** How ClickHouse differs from the acknowledged events. All lists must be empty. */
export interface ComparisonResult {
  /** Number of acknowledged events. */
  readonly acknowledged: number;
  readonly lost: readonly string[];
  readonly twice: readonly string[];
  readonly viewsDiffer: readonly string[];
}

/** Aggregates over a base table, and the view that must equal them, key by key. */
const VIEWS = [
  {
    view: 'link_totals',
    select: `SELECT toString(link_id) AS key, sum(clicks) AS clicks, sum(leads) AS leads, sum(sales) AS sales,
      sum(sale_amount) AS amount FROM link_totals WHERE workspace_id = {w:UInt64} GROUP BY key`,
    key: 'toString(link_id)',
  },
  {
    view: 'workspace_slots',
    select: `SELECT toString(toUnixTimestamp(slot)) AS key, sum(clicks) AS clicks, sum(leads) AS leads, sum(sales) AS sales,
      sum(sale_amount) AS amount FROM workspace_slots WHERE workspace_id = {w:UInt64} GROUP BY key`,
    key: 'toString(toUnixTimestamp(toStartOfFifteenMinutes(timestamp)))',
  },
  {
    view: 'link_days',
    select: `SELECT concat(toString(link_id), ' ', toString(day)) AS key, sum(clicks) AS clicks, sum(leads) AS leads,
      sum(sales) AS sales, sum(sale_amount) AS amount FROM link_days WHERE workspace_id = {w:UInt64} GROUP BY key`,
    key: "concat(toString(link_id), ' ', toString(toDate(timestamp, 'UTC')))",
  },
  {
    view: 'customer_totals',
    select: `SELECT toString(customer_id) AS key, 0 AS clicks, sum(leads) AS leads, sum(sales) AS sales,
      sum(sale_amount) AS amount FROM customer_totals WHERE workspace_id = {w:UInt64} GROUP BY key`,
    key: 'toString(customer_id)',
  },
] as const;

function baseSelect(key: string, withClicks: boolean): string {
  const part = (table: string, clicks: number, leads: number, sales: number, amount: string) =>
    `SELECT ${key} AS key, ${clicks} AS clicks, ${leads} AS leads, ${sales} AS sales, ${amount} AS amount
      FROM ${table} WHERE workspace_id = {w:UInt64}`;
  const parts = [
    ...(withClicks ? [part('click_events', 1, 0, 0, 'toInt64(0)')] : []),
    part('lead_events', 0, 1, 0, 'toInt64(0)'),
    part('sale_events', 0, 0, 1, 'amount'),
  ];
  return `SELECT key, sum(clicks) AS clicks, sum(leads) AS leads, sum(sales) AS sales, sum(amount) AS amount
    FROM (${parts.join(' UNION ALL ')}) GROUP BY key`;
}

class StoreComparison {
  constructor(
    private readonly client: ClickHouseClient,
    private readonly workspaceId: string,
    private readonly sentEvents: SentEvents,
  ) {}

  async run(timeoutMs: number): Promise<ComparisonResult> {
    await waitFor(async () => (await this.#lost()).length === 0, { timeoutMs, what: 'every event' }).catch(
      () => undefined,
    );
    return {
      acknowledged: this.sentEvents.acknowledged,
      lost: await this.#lost(),
      twice: await this.#twice(),
      viewsDiffer: await this.#viewsDiffer(),
    };
  }

  async #rows<T>(query: string): Promise<T[]> {
    const result = await this.client.query({ query, query_params: { w: this.workspaceId }, format: 'JSONEachRow' });
    return result.json<T>();
  }

  async #names(query: string): Promise<Set<string>> {
    return new Set((await this.#rows<{ name: string }>(query)).map(({ name }) => name));
  }

  async #lost(): Promise<string[]> {
    const where = 'WHERE workspace_id = {w:UInt64}';
    const [clicks, sales, leads, customers, names] = await Promise.all([
      this.#names(`SELECT toString(click_id) AS name FROM click_events ${where}`),
      this.#names(`SELECT toString(event_id) AS name FROM sale_events ${where}`),
      this.#names(`SELECT toString(customer_id) AS name FROM lead_events ${where}`),
      this.#names(`SELECT toString(id) AS name FROM customers ${where}`),
      this.#names(`SELECT toString(id) AS name FROM names ${where} AND kind = 'customer'`),
    ]);
    const { sentEvents } = this;
    return [
      ...[...sentEvents.clicks].filter((id) => !clicks.has(id)),
      ...[...sentEvents.sales.values()].filter((id) => !sales.has(id)),
      ...[...sentEvents.customers].filter((id) => !leads.has(id) || !customers.has(id) || !names.has(id)),
    ];
  }

  /** Ids and invoices stored more than once, acknowledged or not, and invoices answered with different sales. */
  async #twice(): Promise<string[]> {
    const where = 'WHERE workspace_id = {w:UInt64}';
    const having = 'GROUP BY name HAVING count() > 1';
    const found = await Promise.all([
      this.#names(`SELECT toString(click_id) AS name FROM click_events ${where} ${having}`),
      this.#names(`SELECT toString(event_id) AS name FROM lead_events ${where} ${having}`),
      this.#names(`SELECT toString(event_id) AS name FROM sale_events ${where} ${having}`),
      this.#names(`SELECT toString(customer_id) AS name FROM lead_events ${where} ${having}`),
      this.#names(`SELECT invoice_id AS name FROM sale_events ${where} AND invoice_id != '' ${having}`),
    ]);
    return [...found.flatMap((names) => [...names]), ...this.sentEvents.contradictions];
  }

  async #viewsDiffer(): Promise<string[]> {
    const differences = await Promise.all(
      VIEWS.map(async ({ view, select, key }) => {
        const columns = 'key, toInt64(clicks) AS c, toInt64(leads) AS l, toInt64(sales) AS s, toInt64(amount) AS a';
        const rows = await this.#rows<{ key: string; n: string }>(
          `SELECT key, count() AS n FROM (
            SELECT ${columns} FROM (${select}) UNION ALL SELECT ${columns} FROM (${baseSelect(key, view !== 'customer_totals')})
          ) GROUP BY key, c, l, s, a HAVING n != 2`,
        );
        return rows.map((row) => `${view} ${row.key}`);
      }),
    );
    return differences.flat();
  }
}

/** Waits until all acknowledged events are in ClickHouse, or for the timeout, then compares. The queues must be empty. */
export function compareWithStore(
  client: ClickHouseClient,
  workspaceId: string,
  sentEvents: SentEvents,
): Promise<ComparisonResult> {
  return new StoreComparison(client, workspaceId, sentEvents).run(FAULTS.settleMs);
}
