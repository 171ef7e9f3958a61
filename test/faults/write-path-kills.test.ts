import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReportLine, writeReportSection } from './fault-report.js';
import { FAULTS, SCENARIO_MS } from './queue/fault-length.js';
import { Judge } from './queue/judge.js';
import { Traffic, type TrafficOptions, WritePath } from './queue/write-path.js';

// Runs producers and writers as processes at full speed, and kills processes repeatedly with `kill -9`. Each acknowledged event
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

async function judged(
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
  const verdict = await new Judge(path.client, traffic.workspaceId, traffic.ledger).judge(FAULTS.settleMs);
  report.push({
    scenario,
    faults,
    events: verdict.acknowledged,
    lost: verdict.lost.length,
    twice: verdict.twice.length,
    viewsEqual: verdict.viewsDiffer.length === 0,
  });
  // A few names are enough for the error message.
  const sample = {
    lost: verdict.lost.slice(0, 5),
    twice: verdict.twice.slice(0, 5),
    views: verdict.viewsDiffer.slice(0, 5),
  };
  expect({ ...sample, lostCount: verdict.lost.length }).toEqual({ lost: [], twice: [], views: [], lostCount: 0 });
  expect(traffic.ledger.failedClicks).toEqual([]);
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
      await judged('writers killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, (number) => path.killWriter(number)),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when producers are killed',
    async () => {
      await judged('producers killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, (number) => traffic.killProducer(number)),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when Redis is killed',
    async () => {
      await judged('Redis killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, () => path.killRedis()),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when ClickHouse is killed',
    async () => {
      await judged('ClickHouse killed', `${FAULTS.kills} × kill -9`, (traffic) =>
        repeatedly(traffic, () => path.killClickHouse()),
      );
    },
    SCENARIO_MS,
  );

  it(
    'when ClickHouse is away, and writers are killed meanwhile',
    async () => {
      await judged('ClickHouse away', `${FAULTS.awayMs / 1000} s, a writer killed`, async (traffic) => {
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
      await judged(
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
      await judged('everything killed in turn', `${FAULTS.kills} × each`, async (traffic) => {
        await repeatedly(traffic, async (number) => {
          await Promise.all([path.killWriter(number), path.killRedis(50)]);
          await Promise.all([traffic.killProducer(number), path.killClickHouse(50)]);
        });
      });
    },
    SCENARIO_MS,
  );
});
