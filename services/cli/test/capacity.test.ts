import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  EVENT_COSTS,
  INSERT_MICROS,
  QUERY_SERVICE_MICROS,
  QUERY_STORE_MICROS,
  QUIET_CLICK_MICROS,
  REDIS_LOAD_BYTES_PER_SECOND,
  ROW_MICROS,
  SPOOL_CLICK_BYTES,
} from '../src/capacity/constants.js';
import { type CapacityRequest, planCapacity } from '../src/capacity/plan-capacity.js';
import { type CapacityOptions, showCapacity } from '../src/commands/capacity.js';

const ROOT = join(import.meta.dirname, '../../..');
/** What `npm run bench -- capacity --record` has written. */
const MEASURED = JSON.parse(readFileSync(join(ROOT, 'test/bench/capacity/recorded.json'), 'utf8'));
const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/capacity.md'), 'utf8');
/** The commands on the page, with the output shown below each. */
const EXAMPLES = [...PAGE.matchAll(/```sh\nnpx waymark capacity (.*)\n```\n\n```text\n([\s\S]*?)```/g)];

function optionsOf(words: string): CapacityOptions {
  const pairs = [...words.matchAll(/--([a-z-]+) (\S+)/g)].map(([, flag = '', value = '']) => [
    flag.replace(/-([a-z])/g, (_dash, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(pairs);
}

const request: fc.Arbitrary<CapacityRequest> = fc.record({
  eventsPerSecond: fc.double({ min: 0, max: 1e7, noNaN: true }),
  queriesPerSecond: fc.double({ min: 0, max: 1e4, noNaN: true }),
  retentionDays: fc.integer({ min: 1, max: 3650 }),
  leadShare: fc.double({ min: 0, max: 0.5, noNaN: true }),
  saleShare: fc.double({ min: 0, max: 0.5, noNaN: true }),
  peakFactor: fc.double({ min: 1, max: 20, noNaN: true }),
  outageMinutes: fc.integer({ min: 0, max: 600 }),
  redisOutageMinutes: fc.integer({ min: 0, max: 600 }),
  replicas: fc.integer({ min: 1, max: 3 }),
});

describe('docs/capacity.md', () => {
  it('has worked examples at 100, 10,000 and 1,000,000 events per second', () => {
    const rates = EXAMPLES.map(([, words = '']) => Number(optionsOf(words).eventsPerSecond));
    expect(rates).toEqual([100, 10_000, 1_000_000]);
  });

  it.each(EXAMPLES.map(([, words = '', output = '']) => [words, output] as const))(
    'shows the actual output of the command: %s',
    async (words, output) => {
      const { lines } = await showCapacity(optionsOf(words));
      expect(output).toBe(`${lines.join('\n')}\n`);
    },
  );

  it('shows the costs that the model uses', () => {
    const row = (label: string, pick: (cost: (typeof EVENT_COSTS)[keyof typeof EVENT_COSTS]) => string) =>
      expect(PAGE).toContain(`| ${label} | ${Object.values(EVENT_COSTS).map(pick).join(' | ')} |`);
    row('Redis, bytes while it waits to be written', (cost) => cost.queuedBytes.toLocaleString('en-US'));
    row(
      'Redis, memory at one event a second, for claims and answers that `/track` stores',
      (cost) => `${cost.retainedByteSeconds / 1e6} MB`,
    );
    row('ingest, µs of a core', (cost) => String(cost.ingestMicros));
    row('Redis, µs of its one core', (cost) => String(cost.redisMicros));
    row('writer, µs of a core', (cost) => String(cost.writerMicros));
    row('ClickHouse, bytes on disk with its part of the views', (cost) => String(cost.diskBytes));
  });
});

/** Sizes are the same on every machine. */
const SIZE_SHARE = 0.1;
/** Processor time depends on what else the machine does. */
const CPU_FACTOR = 2.5;

describe('the constants are those of the recorded bench', () => {
  const close = (constant: number, measured: number) => {
    expect(Math.abs(constant - measured)).toBeLessThanOrEqual(SIZE_SHARE * measured);
  };
  const alike = (constant: number, measured: number) => {
    expect(constant).toBeGreaterThan(measured / CPU_FACTOR);
    expect(constant).toBeLessThan(measured * CPU_FACTOR);
  };
  const quiet = QUIET_CLICK_MICROS / MEASURED.path[0].ingest;

  it.each(Object.keys(EVENT_COSTS) as (keyof typeof EVENT_COSTS)[])('for a %s', (kind) => {
    const costs = EVENT_COSTS[kind];
    const path = MEASURED.path.find((one: { kind: string }) => one.kind === kind);
    const disk = MEASURED.disk.find((one: { kind: string }) => one.kind === kind);
    close(costs.queuedBytes, path.queuedBytes - path.keptBytes);
    close(costs.retainedByteSeconds, path.keptByteSeconds);
    close(costs.diskBytes, disk.row + disk.views);
    close(costs.ingestMicros, path.ingest * quiet);
    close(costs.writerMicros, path.writer * quiet);
    close(costs.redisMicros, path.redisTaking + path.redisWriting);
  });

  it('for the spool, the start of Redis, inserts and queries', () => {
    close(SPOOL_CLICK_BYTES, MEASURED.away.spoolBytes);
    alike(REDIS_LOAD_BYTES_PER_SECOND, MEASURED.away.loadBytesPerSecond);
    alike(INSERT_MICROS, MEASURED.inserts.perInsert);
    alike(ROW_MICROS, MEASURED.inserts.perRow);
    const dearest = (name: string) =>
      Math.max(...Object.values<Record<string, number>>(MEASURED.queries).map((query) => query[name] ?? 0));
    alike(QUERY_SERVICE_MICROS, dearest('service'));
    alike(QUERY_STORE_MICROS, dearest('store'));
  });

  it('for the tables that an insert fills', () => {
    const directory = join(ROOT, 'clickhouse/migrations');
    const statements = readdirSync(directory).flatMap((name) => readFileSync(join(directory, name), 'utf8').split(';'));
    const materialized = statements.filter((statement) => statement.includes('CREATE MATERIALIZED VIEW'));
    for (const [kind, { parts }] of Object.entries(EVENT_COSTS)) {
      const views = materialized.filter((statement) => new RegExp(`^FROM ${kind}_events`, 'm').test(statement));
      expect({ kind, parts }).toEqual({ kind, parts: views.length + 1 });
    }
  });
});

describe('the model', () => {
  it('says how long the default spool lasts: 30,000 clicks a second on four processes fill 1 GiB each in 155 s', () => {
    const load = { eventsPerSecond: 30_000, queriesPerSecond: 0, retentionDays: 1, leadShare: 0, saleShare: 0 };
    const rest = { peakFactor: 1, outageMinutes: 0, redisOutageMinutes: 5, replicas: 1 };
    const plan = planCapacity({ ...load, ...rest });
    const perProcess = (plan.spool.defaultSeconds * 4) / plan.processes.ingest;
    expect(Math.round(perProcess)).toBe(155);
    expect(plan.spool.megabytes * 1024 ** 2).toBeGreaterThanOrEqual(
      Math.floor((30_000 * SPOOL_CLICK_BYTES * plan.spool.seconds) / plan.processes.ingest),
    );
  });

  it('gives the spool room for as long as Redis loads its log, and more inserts only for more than ten shards', () => {
    const load = { eventsPerSecond: 10_000, queriesPerSecond: 50, leadShare: 0.02, saleShare: 0.005, peakFactor: 3 };
    const plan = planCapacity({ ...load, retentionDays: 365, outageMinutes: 60, redisOutageMinutes: 0, replicas: 2 });
    expect(plan.redis.restartSeconds).toBeGreaterThan(300);
    expect(plan.spool.seconds).toBe(plan.redis.restartSeconds);
    const inserts = (retentionDays: number) =>
      planCapacity({ ...load, retentionDays, outageMinutes: 60, redisOutageMinutes: 0, replicas: 2 }).clickhouse
        .insertsPerSecond;
    expect(inserts(90)).toBe(inserts(1));
    expect(inserts(3 * 365)).toBeGreaterThan(1.2 * inserts(1));
    expect(plan.clickhouse.keeperEntriesPerSecond).toBeGreaterThan(10 * plan.clickhouse.insertsPerSecond);
  });

  it('returns finite whole numbers, and never loads a core beyond its target', () => {
    fc.assert(
      fc.property(request, (given) => {
        const { installations, redis, clickhouse, processes } = planCapacity(given);
        for (const count of [installations, clickhouse.servers, ...Object.values(processes)]) {
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
        }
        expect(redis.coreShare).toBeLessThanOrEqual(0.6);
        expect(clickhouse.servers % given.replicas).toBe(0);
      }),
    );
  });

  it('never needs less for more events, more queries or longer retention', () => {
    fc.assert(
      fc.property(
        request,
        fc.constantFrom('eventsPerSecond', 'queriesPerSecond', 'retentionDays', 'outageMinutes', 'redisOutageMinutes'),
        (given, name) => {
          const less = planCapacity(given);
          const more = planCapacity({ ...given, [name]: given[name] * 2 });
          const total = (plan: typeof less) => plan.redis.memoryBytes * plan.installations;
          expect(total(more)).toBeGreaterThanOrEqual(total(less));
          expect(more.clickhouse.diskBytes).toBeGreaterThanOrEqual(less.clickhouse.diskBytes);
          expect(more.clickhouse.servers).toBeGreaterThanOrEqual(less.clickhouse.servers);
          expect(more.processes.ingest).toBeGreaterThanOrEqual(less.processes.ingest);
          expect(less.fitsOneMachine || !more.fitsOneMachine).toBe(true);
        },
      ),
    );
  });

  it('rejects invalid and out-of-range numbers', async () => {
    const good = { eventsPerSecond: '1', queriesPerSecond: '1', retentionDays: '1' };
    for (const bad of [
      { eventsPerSecond: 'many' },
      { retentionDays: '-1' },
      { leadShare: '2' },
      { queriesPerSecond: undefined },
      { replicas: '1.5' },
    ]) {
      await expect(showCapacity({ ...good, ...bad })).rejects.toThrow('--');
    }
  });
});
