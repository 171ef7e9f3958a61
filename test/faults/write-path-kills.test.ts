import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from './fault-length.js';
import { type ReportLine, writeReportSection } from './fault-report.js';
import { repeatedly, runScenario } from './queue/run-scenario.js';
import { type Traffic, type TrafficOptions, WritePath } from './queue/write-path.js';

// Runs producers and writers as processes, in the long form at full speed, and kills processes repeatedly with `kill -9`. Each acknowledged event
// must be in ClickHouse exactly once, and every view must agree.

let path: WritePath;
const report: ReportLine[] = [];

beforeAll(async () => {
  path = await WritePath.start();
}, 120_000);
afterAll(async () => {
  await path?.stop();
  if (FAULTS.isLong) writeReportSection('Write path, killed', report);
}, 120_000);

const run = (scenario: string, faults: string, work: (traffic: Traffic) => Promise<void>, options?: TrafficOptions) =>
  runScenario(path, report, { scenario, faults, ...(options && { options }) }, work);

describe('acknowledged events are in ClickHouse exactly once', () => {
  it(
    'when writers are killed',
    async () => {
      await run('writers killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, (number) => path.killWriter(number)),
      );
      expect(Math.max(...path.activeAtKills), 'jobs that were active at a kill').toBeGreaterThan(0);
    },
    SCENARIO_MS,
  );

  it(
    'when producers are killed',
    async () => {
      await run('producers killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, (number) => traffic.killProducer(number)),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when Redis is killed',
    async () => {
      await run('Redis killed', `${FAULTS.kills} × kill -9`, (traffic) => repeatedly(traffic, () => path.killRedis()));
    },
    SCENARIO_MS,
  );

  it(
    'when ClickHouse is killed',
    async () => {
      await run('ClickHouse killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, () => path.killClickHouse()),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when ClickHouse is away, and writers are killed meanwhile',
    async () => {
      await run('ClickHouse away', `${FAULTS.awayMs / 1000} s, a writer killed`, async (traffic) => {
        await path.clickhouse.kill9();
        await delay(FAULTS.awayMs / 2);
        await path.killWriter(0);
        await delay(FAULTS.awayMs / 2);
        await path.clickhouse.restart();
        await traffic.progress(FAULTS.eventsBetweenKills);
      });
    },
    SCENARIO_MS,
  );

  it(
    'when Redis is away: no click fails, and a producer killed meanwhile leaves its spool to the others',
    async () => {
      await run(
        'Redis away',
        `${FAULTS.awayMs / 1000} s, a producer killed`,
        async (traffic) => {
          await path.redis.kill9();
          await traffic.progress(FAULTS.eventsBetweenKills / 2);
          await traffic.killProducer(0);
          await delay(FAULTS.awayMs);
          await traffic.progress(FAULTS.eventsBetweenKills / 2);
          await path.redis.restart();
          await traffic.progress(FAULTS.eventsBetweenKills);
        },
        { clicks: 30, sales: 5 },
      );
    },
    SCENARIO_MS,
  );

  it(
    'when everything is killed in turn',
    async () => {
      await run('everything killed in turn', `${FAULTS.kills} × each`, async (traffic) => {
        await repeatedly(traffic, async (number) => {
          await Promise.all([path.killWriter(number), path.killRedis(50)]);
          await Promise.all([traffic.killProducer(number), path.killClickHouse(50)]);
        });
      });
    },
    SCENARIO_MS,
  );
});
