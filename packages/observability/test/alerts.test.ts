import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { createClickHouseClient } from '@waymark/clickhouse';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Operations, startOperations } from '../src/index.js';

/** A rules file as Prometheus accepts it, with the annotations that we require. */
const duration = z.string().regex(/^\d+[smh]$/);
const ruleSchema = z.strictObject({
  alert: z.string().regex(/^Waymark[A-Z][A-Za-z]+$/),
  expr: z.string(),
  for: duration.optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
});
const fileSchema = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(ruleSchema).min(1) })).min(1),
});

const FILE = new URL('../../../deploy/prometheus/alerts.yml', import.meta.url);
const VIEWS = new URL('../../../clickhouse/migrations/', import.meta.url);
const MIGRATIONS = [
  '0025_ops_batches',
  '0026_ops_workspace_minutes',
  '0027_ops_samples',
  '0028_ops_requests',
  '0029_ops_slow_queries',
];
const rules = fileSchema.parse(parse(readFileSync(FILE, 'utf8'))).groups.flatMap((group) => group.rules);

/** Labels of our metrics, and those that Prometheus adds. */
const LABELS = new Set([
  ...['component', 'kind', 'state', 'outcome', 'plan', 'endpoint', 'route', 'method', 'status', 'from', 'le'],
  ...['disk', 'table', 'shard', 'service', 'instance', 'job'],
]);

interface Parsed {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  readonly errors: readonly string[];
}

/** What an expression names, as Prometheus' own grammar reads it. */
function read(expression: string): Parsed {
  const metrics: string[] = [];
  const labels: string[] = [];
  const errors: string[] = [];
  parser.parse(expression).iterate({
    enter({ type, from, to }) {
      const text = expression.slice(from, to);
      if (type.isError) errors.push(`${from}: ${text}`);
      else if (type.name === 'Identifier') metrics.push(text);
      else if (type.name === 'LabelName') labels.push(text);
    },
  });
  return { metrics, labels, errors };
}

let operations: Operations;
let redis: Redis;
let clickhouse: ReturnType<typeof createClickHouseClient>;
let families: ReadonlyMap<string, string>;

beforeAll(async () => {
  // Both stores are away: the metrics are there all the same.
  redis = new Redis({ port: 1, lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null });
  redis.on('error', () => {});
  clickhouse = createClickHouseClient({ url: 'http://127.0.0.1:1', database: 'x' });
  operations = startOperations({
    service: 'writer',
    isWriter: true,
    redis,
    clickhouse,
    spoolDirectory: '/nowhere',
    catalogLookups: () => ({}),
    logger: { debug() {}, warn() {} },
  });
  const text = await operations.registry.metrics();
  const lines = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  families = new Map([...OF_PROMETHEUS, ...lines.map(([, name = '', type = '']) => [name, type] as const)]);
});
afterAll(async () => {
  await operations.close();
  redis.disconnect();
  await clickhouse.close();
});

/** Metrics that Prometheus itself has for each target. */
const OF_PROMETHEUS = new Map([['up', 'gauge']]);

/** The metric that a series belongs to: a histogram has three. */
function familyOf(series: string): string | undefined {
  const base = series.replace(/_(?:bucket|sum|count)$/, '');
  if (families.has(series)) return series;
  return families.get(base) === 'histogram' ? base : undefined;
}

it('the parser of expressions rejects a broken one', () => {
  expect(read('sum by (kind) (rate(a_total[5m])').errors).not.toEqual([]);
  expect(read('sum by (kind) (rate(a_total{b="c"}[5m])) > 1')).toEqual({
    metrics: ['a_total'],
    labels: ['kind', 'b'],
    errors: [],
  });
});

it('three restarts of each process, as in a key rotation, raise no alert', () => {
  const { expr = '' } = rules.find(({ alert }) => alert === 'WaymarkRestarting') ?? {};
  const [starts, limit] = expr.split(' > ');
  expect(read(starts ?? '').metrics).toEqual(['waymark_component_starts_total']);
  expect(read(limit ?? '').metrics).toEqual(['waymark_component_processes']);
  // `increase` extrapolates to the ends of its window: up to a sixth more.
  expect(Number.parseFloat(limit ?? '')).toBeGreaterThanOrEqual(3.5);
});

it('the memory of a process is compared with the limits on it, whatever they are', () => {
  const { expr = '' } = rules.find(({ alert }) => alert === 'WaymarkMemoryGrows') ?? {};
  const limits = ['waymark_process_memory_limit_bytes', 'waymark_process_heap_limit_bytes'];
  expect(read(expr).metrics).toEqual(expect.arrayContaining(limits));
});

it('every alert on queue jobs covers each shard', () => {
  const adding = rules.filter(({ expr }) => /waymark_queue_jobs|waymark_dead_letters/.test(expr));
  expect(adding.length).toBeGreaterThan(2);
  expect(adding.filter(({ expr }) => !read(expr).labels.includes('shard')).map(({ alert }) => alert)).toEqual([]);
});

it('alerts on the requests of a route tell its methods apart, so that reads do not hide writes that fail', () => {
  const ofRoutes = rules.filter(({ expr }) => /by \([^)]*\broute\b/.test(expr));
  expect(ofRoutes.map(({ alert }) => alert)).toEqual(['WaymarkErrors', 'WaymarkApiSlow']);
  for (const { expr, annotations } of ofRoutes) {
    expect(expr.match(/by \([^()]*\)/g)?.every((by) => by.includes('method, route'))).toBe(true);
    expect(annotations.summary).toContain('{{ $labels.method }} {{ $labels.route }}');
  }
});

it.each(['WaymarkProcessKilled', 'WaymarkRestarting'])(
  '%s, whose counters are kept in Redis, may be false after a restore of it, and says so',
  (name) => {
    const { annotations } = rules.find(({ alert }) => alert === name) ?? {};
    expect(annotations?.runbook).toContain('After a copy of Redis was restored');
  },
);

it('no alert has the name of another', () => {
  const names = rules.map(({ alert }) => alert);
  expect(new Set(names).size).toBe(names.length);
});

describe.each(rules.map((rule) => [rule.alert, rule] as const))('%s', (_name, { expr, annotations, for: wait }) => {
  const { metrics, labels, errors } = read(expr);

  it('is an expression that names metrics and labels of ours', () => {
    expect(errors).toEqual([]);
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((metric) => familyOf(metric) === undefined)).toEqual([]);
    expect(labels.filter((label) => !LABELS.has(label))).toEqual([]);
  });

  it('takes rates of counters only, and needs a window or a duration', () => {
    const grows = metrics.filter((metric) => families.get(familyOf(metric) ?? '') !== 'gauge');
    const inWindows = [...expr.matchAll(/(?:rate|increase)\((\w+)/g)].map(([, metric]) => metric);
    expect(inWindows.sort()).toEqual([...grows].sort());
    expect(wait !== undefined || inWindows.length > 0).toBe(true);
  });

  it('has a meaning, a first step and a remedy in its annotations, and uses only labels that it has', () => {
    expect(annotations.runbook).toMatch(/^Means: .+ Look at: .+ Do: .+\.$/);
    const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
    expect(used.filter((label) => !labels.includes(label))).toEqual([]);
    const views = MIGRATIONS.map((name) => readFileSync(new URL(`${name}.sql`, VIEWS), 'utf8')).join('\n');
    const named = [...annotations.runbook.matchAll(/\bops_\w+/g)].map(([name]) => name);
    expect(named.filter((name) => !new RegExp(`(?:VIEW|TABLE) IF NOT EXISTS ${name}\\b`).test(views))).toEqual([]);
  });
});
