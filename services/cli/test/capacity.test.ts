import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVENT_COSTS } from '../src/capacity/constants.js';
import { type CapacityRequest, planCapacity } from '../src/capacity/plan-capacity.js';
import { type CapacityOptions, showCapacity } from '../src/commands/capacity.js';

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

describe('the model', () => {
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
        fc.constantFrom('eventsPerSecond', 'queriesPerSecond', 'retentionDays', 'outageMinutes'),
        (given, name) => {
          const less = planCapacity(given);
          const more = planCapacity({ ...given, [name]: given[name] * 2 });
          const total = (plan: typeof less) => plan.redis.memoryBytes * plan.installations;
          expect(total(more)).toBeGreaterThanOrEqual(total(less));
          expect(more.clickhouse.diskBytes).toBeGreaterThanOrEqual(less.clickhouse.diskBytes);
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
    ]) {
      await expect(showCapacity({ ...good, ...bad })).rejects.toThrow('--');
    }
  });
});
