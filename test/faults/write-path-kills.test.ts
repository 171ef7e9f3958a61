import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from './fault-length.js';
import { type ReportLine, writeReportSection } from './fault-report.js';
import { compareWithStore } from './queue/compare-with-store.js';
import { Traffic, type TrafficOptions, WritePath } from './queue/write-path.js';

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

/** Does `work` during traffic, then checks that every acknowledged event is stored once. */
async function runScenario(
  scenario: string,
  faults: string,
  work: (traffic: Traffic) => Promise<void>,
  options: TrafficOptions = {},
): Promise<Traffic> {
  const traffic = new Traffic(path, options);
  await traffic.progress(FAULTS.eventsBetweenKills / 4);
  await work(traffic);
  await traffic.progress(FAULTS.eventsBetweenKills / 4);
  await traffic.stop();
  const result = await compareWithStore(path.client, traffic.workspaceId, traffic.sentEvents);
  report.push({
    scenario,
    faults,
    events: result.acknowledged,
    lost: result.lost.length,
    twice: result.twice.length,
    viewsEqual: result.viewsDiffer.length === 0,
  });
  // A few names are enough for the error message.
  const sample = {
    lost: result.lost.slice(0, 5),
    twice: result.twice.slice(0, 5),
    views: result.viewsDiffer.slice(0, 5),
  };
  expect({ ...sample, lostCount: result.lost.length }).toEqual({ lost: [], twice: [], views: [], lostCount: 0 });
  expect(traffic.sentEvents.failedClicks).toEqual([]);
  return traffic;
}

/** Calls `kill` repeatedly during traffic. */
async function repeatedly(traffic: Traffic, kill: (number: number) => Promise<void>): Promise<void> {
  for (let number = 0; number < FAULTS.kills; number++) {
    await kill(number);
    await traffic.progress(FAULTS.eventsBetweenKills);
  }
}

describe('acknowledged events are in ClickHouse exactly once', () => {
  it(
    'when writers are killed',
    async () => {
      await runScenario('writers killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, (number) => path.killWriter(number)),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when producers are killed',
    async () => {
      await runScenario('producers killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, (number) => traffic.killProducer(number)),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when Redis is killed',
    async () => {
      await runScenario('Redis killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, () => path.killRedis()),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when ClickHouse is killed',
    async () => {
      await runScenario('ClickHouse killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, () => path.killClickHouse()),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when ClickHouse is away, and writers are killed meanwhile',
    async () => {
      await runScenario('ClickHouse away', `${FAULTS.awayMs / 1000} s, a writer killed`, async (traffic) => {
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
      await runScenario(
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
      await runScenario('everything killed in turn', `${FAULTS.kills} × each`, async (traffic) => {
        await repeatedly(traffic, async (number) => {
          await Promise.all([path.killWriter(number), path.killRedis(50)]);
          await Promise.all([traffic.killProducer(number), path.killClickHouse(50)]);
        });
      });
    },
    SCENARIO_MS,
  );
});
