import { type RedisDeployment, startRedisCluster, startRedisSentinels } from '@waymark/test-kit';
import { afterAll, describe, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from '../fault-length.js';
import { type ReportLine, writeReportSection } from '../fault-report.js';
import { repeatedly, runScenario } from '../queue/run-scenario.js';
import { WritePath } from '../queue/write-path.js';

// Producers and writers on a Redis with a replica, which takes the master's place during traffic, by an operator's command or after `kill -9`.
// Replication is asynchronous: what the old master has acknowledged alone is gone. So each write waits for the replica.

const report: ReportLine[] = [];
afterAll(() => {
  if (FAULTS.isLong) writeReportSection('Redis, failed over', report);
});

const DEPLOYMENTS: [string, () => Promise<RedisDeployment>][] = [
  ['Sentinels', startRedisSentinels],
  ['a cluster', startRedisCluster],
];

describe.each(DEPLOYMENTS)('acknowledged events are in ClickHouse exactly once, with %s', (name, start) => {
  let redis: RedisDeployment;
  let path: WritePath;

  async function run(scenario: string, faults: string, fail: () => Promise<void>): Promise<void> {
    redis = await start();
    try {
      path = await WritePath.start({ redisUrl: redis.url, waitReplicas: 1 });
      try {
        const named = { scenario: `${name}: ${scenario}`, faults };
        await runScenario(path, report, named, (traffic) => repeatedly(traffic, fail));
      } finally {
        await path.stop();
      }
    } finally {
      await redis.stop();
    }
  }

  it(
    'when a replica is made the master',
    () => run('planned failover', `${FAULTS.kills} × failover`, () => redis.failOver()),
    SCENARIO_MS,
  );

  it(
    'when the master is killed',
    () => run('master killed', `${FAULTS.kills} × kill -9`, () => redis.killMaster()),
    SCENARIO_MS,
  );
});
