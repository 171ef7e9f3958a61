import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyQueryLogView } from '@waymark/clickhouse';
import { createEventId } from '@waymark/contract';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  insertClicks,
  insertLeads,
  insertSales,
  type TestDatabase,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { writeOpsHistory } from '../browser/lib/ops-history.js';
import { type DashboardPanel, expandSql, readDashboards } from './lib/dashboards.js';

const HOUR_MS = 3_600_000;
/** Queries on tables that the embedded ClickHouse lacks are only parsed; with a server they are executed. */
const NEEDS_A_LOG = /\bops_query_log\b|\bsystem\.(?:query|part)_log\b/;

/** Tables of measurements with their columns of time. */
const MEASUREMENTS = [
  ['ops_batches', 'time'],
  ['ops_samples', 'time'],
  ['ops_workspace_minutes', 'minute'],
  ['ops_requests', 'minute'],
  ['webhook_deliveries', 'timestamp'],
] as const;

const dashboards = readDashboards();
const range = { from: Date.now() - 3 * HOUR_MS, to: Date.now() + 60_000, intervalSeconds: 60 };

describe('the Grafana dashboards', () => {
  let database: TestDatabase;
  let hasLog: boolean;

  /** Writes four empty workspaces and one with 60 clicks, 6 leads and 3 sales in the last hour, one of them in yen. */
  async function writeEvents(): Promise<void> {
    const clicks = Array.from({ length: 60 }, (_, minute) => {
      const timestampMs = Date.now() - minute * 60_000;
      return aClick({ timestampMs, clickId: createEventId(timestampMs) });
    });
    await insertClicks(database.client, clicks);
    const recent = (minute: number) => ({ timestampMs: Date.now() - minute * 60_000 });
    await insertLeads(
      database.client,
      clicks.slice(0, 6).map((click, index) => aLead({ click, ...recent(index) })),
    );
    await insertSales(
      database.client,
      clicks.slice(0, 3).map((click, index) => {
        const money = index === 2 ? { amount: 10_000, currency: 'jpy' } : {};
        return aSale({ click, invoiceId: `${index}`, ...money, ...recent(index) });
      }),
    );
  }

  beforeAll(async () => {
    database = await createTestDatabase();
    hasLog = await applyQueryLogView(database.client);
    await writeOpsHistory(database.client, 2 * 3600);
    await writeEvents();
  });
  afterAll(() => database.drop());

  async function rows(query: string): Promise<Record<string, unknown>[]> {
    return (await database.client.query({ query, format: 'JSONEachRow' })).json();
  }
  const expand = (sql: string) => expandSql(sql, range, { workspace: ['1', '2', '3', '4', '5'] });

  it('are referenced by the provisioning files, with the data source that they use', () => {
    const folder = join(import.meta.dirname, '../../clickhouse/dashboards/provisioning');
    const read = (file: string) => parse(readFileSync(join(folder, file), 'utf8'));
    const [source] = read('datasources/waymark.yaml').datasources;
    const [provider] = read('dashboards/waymark.yaml').providers;
    const compose = parse(readFileSync(join(import.meta.dirname, '../../docker-compose.yml'), 'utf8'), { merge: true });
    const { grafana } = compose.services;
    expect(grafana.volumes).toEqual(
      expect.arrayContaining([
        `./clickhouse/dashboards:${provider.options.path}:ro`,
        './clickhouse/dashboards/provisioning:/etc/grafana/provisioning:ro',
      ]),
    );
    expect(grafana.environment.GF_PLUGINS_PREINSTALL).toContain(source.type);
    const variables = JSON.stringify(source).match(/(?<=\$)[A-Z_]+/g) ?? [];
    expect(Object.keys(grafana.environment)).toEqual(expect.arrayContaining(variables));
    for (const { datasource } of dashboards.flatMap(({ panels }) => panels)) {
      if (datasource !== undefined) expect(datasource).toEqual({ type: source.type, uid: source.uid });
    }
  });

  it('have read-only access to ClickHouse, even if a panel is edited', async () => {
    const query = 'INSERT INTO ops_samples (metric) VALUES (1)';
    await expect(database.client.command({ query, clickhouse_settings: { readonly: '2' } })).rejects.toThrow(
      /readonly/i,
    );
  });

  it('are two, with different names', () => {
    expect(dashboards.map(({ uid }) => uid)).toEqual(['waymark-operations', 'waymark-product']);
  });

  it('offer every workspace for selection', async () => {
    const [variable] = dashboards.flatMap(({ templating }) => templating.list);
    expect(variable?.name).toBe('workspace');
    expect(await rows(variable?.query ?? '')).toContainEqual({ __value: '1', __text: 'acme' });
  });

  it('count the same for all workspaces as for a list of all, however many these are', async () => {
    for (const { panels, templating } of dashboards) {
      const [variable] = templating.list;
      if (variable === undefined) continue;
      expect(variable.allValue).toMatch(/^SELECT /);
      for (const { targets = [] } of panels) {
        for (const { rawSql } of targets) {
          const all = expandSql(rawSql, range, { workspace: [variable.allValue ?? ''] });
          expect(await rows(all)).toEqual(await rows(expand(rawSql)));
        }
      }
    }
  });

  describe.each(dashboards)('$title', ({ panels }) => {
    const drawn = panels.filter(({ type }) => type !== 'row') as (DashboardPanel &
      Required<Pick<DashboardPanel, 'targets'>>)[];

    it('has panels with descriptions that do not overlap', () => {
      expect(drawn.filter(({ description = '' }) => !description.endsWith('.'))).toEqual([]);
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    });

    it.each(drawn)('has rows for $title', async ({ type, targets }) => {
      for (const { rawSql, queryType } of targets) {
        const sql = expand(rawSql);
        if (NEEDS_A_LOG.test(sql) && !hasLog) {
          const parsed = await database.client.query({ query: `EXPLAIN AST ${sql}`, format: 'TabSeparated' });
          expect(await parsed.text()).toMatch(/^SelectWithUnionQuery/);
          continue;
        }
        const found = await rows(sql);
        // A server writes its query log with a delay of some seconds.
        if (!NEEDS_A_LOG.test(sql)) expect(found.length).toBeGreaterThan(0);
        if (type === 'timeseries') {
          expect(queryType).toBe('timeseries');
          expect(found[0]).toHaveProperty('time', expect.stringMatching(/^\d{4}-\d\d-\d\dT/));
          // Every series needs a name: otherwise a plot would show the name of the query.
          expect(rawSql.includes('AS series')).toBe(Object.hasOwn(found[0] as object, 'series'));
        }
      }
    });
  });

  it.each([
    ['begins now', -5000, 0],
    ['is in the future', HOUR_MS, 2 * HOUR_MS],
  ])('have an answer for a range that %s', async (_what, from, to) => {
    const now = Date.now();
    const short = { from: now + from, to: now + to, intervalSeconds: 60 };
    for (const { targets = [] } of dashboards.flatMap(({ panels }) => panels)) {
      for (const { rawSql } of targets) {
        const sql = expandSql(rawSql, short, { workspace: ['1'] });
        if (hasLog || !NEEDS_A_LOG.test(sql)) await expect(rows(sql)).resolves.toEqual(expect.any(Array));
      }
    }
  });

  describe('after an outage', () => {
    const from = Math.floor(Date.now() / 60_000) * 60 - 5400;
    const outage = { from, to: from + 1800 };
    const inOutage = (column: string) =>
      `${column} >= toDateTime(${outage.from}) AND ${column} < toDateTime(${outage.to})`;
    const panels = dashboards.flatMap((dashboard) => dashboard.panels.filter(({ type }) => type === 'timeseries'));
    const measured = panels.filter(
      ({ targets: [target] = [] }) => !/\b(?:report_|workspace_slots)/.test(target?.rawSql ?? ''),
    );

    beforeAll(async () => {
      for (const [table, column] of MEASUREMENTS) {
        await database.client.command({ query: `DELETE FROM ${table} WHERE ${inOutage(column)}` });
      }
    });

    it('no line leads over the gap', () => {
      expect(panels.filter(({ fieldConfig }) => fieldConfig?.defaults.custom?.spanNulls !== false)).toEqual([]);
    });

    it.each(measured.filter(({ timeFrom }) => timeFrom === undefined))(
      '$title is 0 or unknown for its time',
      async (panel) => {
        const found = await rows(
          `SELECT * FROM (${expand(panel.targets?.[0]?.rawSql ?? '')}) WHERE ${inOutage('time')}`,
        );
        expect(found.length).toBeGreaterThanOrEqual(30);
        const values = found.flatMap(({ time: _time, series: _series, ...columns }) => Object.values(columns));
        expect(values.filter((value) => value !== null && Number(value) !== 0)).toEqual([]);
      },
    );

    it('rates leave out the interval that has not ended, and count the first one from its start', async () => {
      const perMinute = measured.filter(({ targets: [target] = [] }) =>
        target?.rawSql.includes('* 60 / $__interval_s'),
      );
      expect(perMinute.map(({ title }) => title)).toEqual([
        'Events stored',
        'Requests',
        'Rate-limited requests',
        'Webhook deliveries',
      ]);
      const tenMinutes = { from: (outage.from - 300) * 1000, to: Date.now(), intervalSeconds: 600 };
      for (const { targets: [target] = [] } of perMinute) {
        const sql = expandSql(target?.rawSql ?? '', tenMinutes, {});
        const [span] = await rows(
          `SELECT toUnixTimestamp(min(time)) AS first, toUnixTimestamp(max(time)) AS last FROM (${sql})`,
        );
        expect(span?.first).toBe(Math.floor((outage.from - 300) / 600) * 600);
        expect(span?.last).toBeLessThanOrEqual(Date.now() / 1000 - 600);
      }
    });
  });

  it("the growth of tables, which is measured by the hour, has a range of its own that is longer than the dashboard's", () => {
    const growth = dashboards.flatMap(({ panels }) => panels).find(({ title }) => title === 'Table growth');
    expect(growth?.timeFrom).toBe('7d');
  });

  it('count the stored events', async () => {
    const product = dashboards.find(({ uid }) => uid === 'waymark-product');
    const value = async (title: string) => {
      const panel = product?.panels.find((one) => one.title === title);
      return rows(expand(panel?.targets?.[0]?.rawSql ?? ''));
    };
    expect(await value('Clicks')).toEqual([{ value: '60' }]);
    expect(await value('Revenue')).toEqual([{ value: 158 }]);
    const revenue = (await value('New and recurring revenue')) as { revenue: number }[];
    expect(revenue.reduce((sum, row) => sum + row.revenue, 0)).toBe(58);
    expect(await value('Funnel')).toEqual([
      { stage: 'Clicks', events: '60' },
      { stage: 'Leads', events: '6' },
      { stage: 'Sales', events: '3' },
    ]);
  });
});
