import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type Catalog, type CustomerRecord, createCatalog, type LinkRecord } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import {
  analyticsRowSchemas,
  type ErrorBody,
  eventSchema,
  type Grouping,
  type ListedEvent,
  type Plan,
  parseResourceId,
  type Scope,
} from '@waymark/contract';
import type { ClickFields, EventRow, LeadFields, SaleFields } from '@waymark/event-format';
import { createExportSlots } from '@waymark/export';
import { type App, createLogger } from '@waymark/http-kit';
import { createRateLimiter } from '@waymark/rate-limit';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  insertClicks,
  insertLeads,
  insertSales,
  startRedis,
  type TestDatabase,
  temporaryDirectory,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { buildApp, type JobSettings, type QueryDeps, type ScheduleSettings } from '../src/index.js';

/** The current time in these tests: a Saturday, 14:30 in UTC. */
export const NOW = Date.parse('2026-11-21T14:30:00.250Z');
export const MINUTE_MS = 60_000;
const API_URL = 'https://api.example.com';
export const DOC_BASE = 'https://docs.example.com';

export interface TestQuery {
  readonly app: App;
  readonly catalog: Catalog;
  readonly database: TestDatabase;
  readonly redis: Redis;
  readonly jobs: JobSettings & ScheduleSettings;
  close(): Promise<void>;
}

/** Starts the service on real stores, without a port. */
export async function startQuery(
  now: () => number = () => NOW,
  options: Partial<Pick<QueryDeps, 'eventsExpire' | 'exportSlots' | 'streamTimes' | 'onQuery'>> & {
    /** The clock of the catalog. */
    readonly catalogNow?: () => number;
    /** Another client for the reads of events. */
    readonly clickhouseFor?: (database: TestDatabase) => Promise<ClickHouseClient>;
  } = {},
): Promise<TestQuery> {
  const { clickhouseFor = async ({ client }: TestDatabase) => client, catalogNow = Date.now, ...deps } = options;
  const [database, redis] = await Promise.all([createTestDatabase(), startRedis()]);
  const client = new Redis(redis.url);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const catalog = createCatalog({
    redis: client,
    clickhouse: database.client,
    instanceKey: Buffer.alloc(32, 1),
    now: catalogNow,
    logger,
    baseUrl: API_URL,
  });
  const rateLimiter = createRateLimiter(client, { instanceKey: Buffer.alloc(32) });
  const dataDir = temporaryDirectory('waymark-query-');
  const jobs: JobSettings & ScheduleSettings = {
    redis: client,
    logger,
    dataDir,
    exportBytesMax: 2 ** 30,
    baseUrl: API_URL,
    defaultDomain: undefined,
    outboundAllowedRanges: [],
  };
  const app = buildApp(
    { logger, docBase: DOC_BASE, trustedProxies: [] },
    {
      ...{ catalog, clickhouse: await clickhouseFor(database), redis: client, queueShards: [client], rateLimiter },
      ...{ ...jobs, exportSlots: createExportSlots(), now, ...deps },
    },
  );
  await app.ready();
  return {
    app,
    catalog,
    database,
    redis: client,
    jobs,
    async close() {
      await app.close();
      await catalog.close();
      await rateLimiter.close();
      client.disconnect();
      await Promise.all([redis.stop(), database.drop()]);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: ListedEvent[] & ErrorBody;
}

function number(kind: Parameters<typeof parseResourceId>[0], id: string): string {
  const found = parseResourceId(kind, id);
  if (found === undefined) throw new Error(`not an id: ${id}`);
  return found;
}

/** A workspace with an API key, and helpers to fill and to query it. */
export class TestWorkspace {
  constructor(
    readonly query: TestQuery,
    readonly id: string,
    readonly token: string,
    readonly host: string,
  ) {}

  aLink(fields: { key: string } & Partial<LinkRecord> & { password?: string }): Promise<LinkRecord> {
    return this.query.catalog.links.create(this.id, {
      domain: this.host,
      url: 'https://acme.com/',
      ...fields,
    });
  }

  aCustomer(fields: Partial<CustomerRecord> & { externalId: string }): Promise<CustomerRecord> {
    return this.query.catalog.customers.create(this.id, fields);
  }

  /** The row of a click, `minutesAgo` minutes before NOW. */
  click(link: LinkRecord, minutesAgo: number, fields: Partial<ClickFields> = {}): EventRow {
    return aClick({
      workspaceId: number('workspace', this.id),
      linkId: number('link', link.id),
      timestampMs: NOW - minutesAgo * MINUTE_MS,
      ...fields,
    });
  }

  lead(click: EventRow, customer: { id: string }, minutesAgo: number, fields: Partial<LeadFields> = {}): EventRow {
    return aLead({
      click,
      customerId: number('customer', customer.id),
      timestampMs: NOW - minutesAgo * MINUTE_MS,
      ...fields,
    });
  }

  sale(click: EventRow, customer: { id: string }, minutesAgo: number, fields: Partial<SaleFields> = {}): EventRow {
    return aSale({
      click,
      customerId: number('customer', customer.id),
      timestampMs: NOW - minutesAgo * MINUTE_MS,
      ...fields,
    });
  }

  async store(rows: { clicks?: EventRow[]; leads?: EventRow[]; sales?: EventRow[] }): Promise<void> {
    const { client } = this.query.database;
    await insertClicks(client, rows.clicks ?? []);
    await insertLeads(client, rows.leads ?? []);
    await insertSales(client, rows.sales ?? []);
  }

  /** Removes the link like `DELETE /links/{linkId}`. */
  async remove(link: LinkRecord): Promise<void> {
    await this.query.catalog.links.removeMany(this.id, [link.id]);
  }

  /** Requests `GET /events`. The items of a successful response are checked against the contract. */
  async events(parameters: Record<string, string> | string = {}): Promise<Answer> {
    const query = typeof parameters === 'string' ? parameters : new URLSearchParams(parameters).toString();
    const response = await this.query.app.inject({
      method: 'GET',
      url: `/events?${query}`,
      headers: { authorization: `Bearer ${this.token}` },
    });
    const body = response.json();
    if (response.statusCode === 200) z.array(eventSchema).parse(body);
    return { status: response.statusCode, headers: response.headers, body };
  }

  /** Requests `GET /analytics`. A successful response is checked against the contract of its grouping. */
  async analytics(parameters: Record<string, string> | string = {}): Promise<AnalyticsAnswer> {
    const query = new URLSearchParams(parameters);
    const response = await this.query.app.inject({
      method: 'GET',
      url: `/analytics?${query}`,
      headers: { authorization: `Bearer ${this.token}` },
    });
    const body: unknown = response.json();
    if (response.statusCode === 200) {
      const groupBy = query.get('groupBy') ?? 'count';
      const row = analyticsRowSchemas[(groupBy === 'trigger' ? 'triggers' : groupBy) as Grouping];
      (groupBy === 'count' ? row : z.array(row)).parse(body);
    }
    return { status: response.statusCode, headers: response.headers, body };
  }
}

/** The response of `GET /analytics`. */
export interface AnalyticsAnswer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: unknown;
}

/** Creates a workspace on a plan with analytics, with a rate limit that tests do not reach. */
export async function aWorkspace(query: TestQuery, plan: Plan = 'enterprise'): Promise<TestWorkspace> {
  const mark = randomUUID().slice(0, 8);
  const host = `go.${mark}.example`;
  const created = await query.catalog.workspaces.create({ name: 'Acme', slug: `acme-${mark}`, plan, domain: host });
  await query.catalog.workspaces.update(created.workspace.id, { analyticsPerSecond: 10_000 });
  return new TestWorkspace(query, created.workspace.id, created.apiKey.token, host);
}

export async function withScopes(workspace: TestWorkspace, scopes: Scope[]): Promise<TestWorkspace> {
  const { token } = await workspace.query.catalog.keys.create({
    workspaceId: workspace.id,
    name: 'Scoped',
    kind: 'secret',
    role: 'owner',
    scopes,
  });
  return new TestWorkspace(workspace.query, workspace.id, token, workspace.host);
}
