import { type RedisDeployment, startRedisCluster, startRedisSentinels } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from '../fault-length.js';
import { type ReportLine, writeReportSection } from '../fault-report.js';
import { repeatedly, runScenario } from '../queue/run-scenario.js';
import { WritePath } from '../queue/write-path.js';

// Producers and writers on a Redis with a replica, which takes the master's place during traffic, by an operator's command or after `kill -9`.
// Replication is asynchronous: what the old master has acknowledged alone is gone. So each write waits for all replicas.

/** A failover takes some ten seconds of waiting. */
const FAILOVERS = FAULTS.isLong ? 10 : 1;
/** Paced in the long form too: while no replica confirms, which is most of the time here, clicks go to the spool and would fill it. */
const PAUSE_MS = FAULTS.isLong ? 100 : FAULTS.pauseMs;
/** Fewer in the short form: the deployments are tried at the same time, and traffic goes on while a failover is waited for. */
const LOOPS = FAULTS.isLong ? FAULTS.loops : { clicks: 30, sales: 5 };
const report: ReportLine[] = [];
afterAll(() => {
  if (FAULTS.isLong) writeReportSection('Redis, failed over', report);
});

type Deployment = [name: string, replicas: number, start: () => Promise<RedisDeployment>];

const TWO_REPLICAS: Deployment = ['Sentinels and two replicas', 2, () => startRedisSentinels({ replicas: 2 })];
const DEPLOYMENTS: Deployment[] = [
  ['Sentinels', 1, startRedisSentinels],
  ['a cluster', 1, startRedisCluster],
  // Waiting for one of two is not enough: the other may be made the master while the first still follows the old one.
  ...(FAULTS.isLong ? [TWO_REPLICAS] : []),
];

// The short form mostly waits, so the deployments are tried at the same time.
const eachDeployment = FAULTS.isLong ? describe : describe.concurrent;

eachDeployment.each(DEPLOYMENTS)(
  'acknowledged events are in ClickHouse exactly once, with %s',
  (name, waitReplicas, start) => {
    let redis: RedisDeployment;
    let path: WritePath;

    beforeAll(async () => {
      redis = await start();
      path = await WritePath.start({ redisUrl: redis.url, waitReplicas });
    }, 180_000);
    afterAll(async () => {
      await path?.stop();
      await redis?.stop();
    }, 120_000);

    const run = (scenario: string, faults: string, fail: () => Promise<void>) =>
      runScenario(
        path,
        report,
        { scenario: `${name}: ${scenario}`, faults, options: { ...LOOPS, pauseMs: PAUSE_MS } },
        (traffic) => repeatedly(traffic, fail, FAILOVERS),
      );

    it.sequential(
      'when a replica is made the master',
      async () => {
        await run('planned failover', `${FAILOVERS} × failover`, () => redis.failOver());
      },
      SCENARIO_MS,
    );

    it.sequential(
      'when the master is killed',
      async () => {
        await run('master killed', `${FAILOVERS} × kill -9`, () => redis.killMaster());
      },
      SCENARIO_MS,
    );
  },
);
