import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type RedisDeployment, startRedis, startRedisCluster, startRedisSentinels, waitFor } from '@waymark/test-kit';
import { afterAll, describe, expect, it } from 'vitest';
import { isReady, p99, visitContinuously } from '../../../services/standalone/test/promises/continuous-visits.js';
import { startTwoApis, type TwoApis } from '../../../services/standalone/test/promises/two-apis.js';
import { FAULTS, SCENARIO_MS } from '../fault-length.js';
import { type ReportLine, writeReportSection } from '../fault-report.js';
import { listAll, StreamFollower } from '../stack/stream-follower.js';
import { untilDrained } from '../until-drained.js';
import { sendNumberedEvents } from './numbered-events.js';

// The whole API, two processes and a writer, while the Redis of the queue ends or a replica takes its place: numbered clicks, leads and sales
// through both processes are stored once each, the processes are ready again soon, redirects never stop, logs stay short, and a stream
// that resumes misses nothing.

const READY_MS_MAX = 15_000;
const REDIRECT_P99_MS_MAX = 500;
/** On a machine that is busy with other tests: how much longer than before the faults. */
const REDIRECT_P99_RATIO_MAX = 4;
const BEFORE_MS = 3_000;
const LOG_LINES_PER_SECOND_MAX = 10;
const PROCESSES = 3;
/** How often each fault happens, and how many clicks, leads and sales there are of each. */
const [FAULTS_OF_A_KIND, EVENTS] = [10, 2_000];
/** So that there are events left to record after the last fault. */
const EVENTS_PER_FAULT = Math.floor(EVENTS / (2 * FAULTS_OF_A_KIND + 1));

type Deployment = [name: string, waitReplicas: number, start: () => Promise<RedisDeployment>];

/** One server, which is stopped and started, or killed and started. */
async function startOneServer(): Promise<RedisDeployment> {
  const redis = await startRedis({ args: [] });
  return {
    url: redis.url,
    masterPort: () => Promise.resolve(redis.port),
    failOver: () => redis.restart(),
    async killMaster() {
      await redis.kill9();
      await redis.restart();
    },
    stop: () => redis.stop(),
  };
}

const DEPLOYMENTS: Deployment[] = [
  ['one server', 0, startOneServer],
  ['Sentinels', 1, startRedisSentinels],
  ['a cluster', 1, startRedisCluster],
];

const report: ReportLine[] = [];
afterAll(() => {
  if (FAULTS.isLong) writeReportSection('The API, Redis failed over', report);
});

/** Creates and changes a link through one process, and reads each step through the other. @returns its key */
async function useLinks({ apis: [one, other], domain }: TwoApis): Promise<string> {
  const key = randomUUID();
  const { id } = await one.dub.links.create({ domain, key, url: 'https://acme.example/first' });
  expect((await other.visit(domain, `/${key}`)).location).toBe('https://acme.example/first');
  await one.dub.links.update(id, { url: 'https://acme.example/second' });
  expect((await other.visit(domain, `/${key}`)).location).toBe('https://acme.example/second');
  return key;
}

/** Whether every counter of links equals the events. */
async function areViewsEqual({ database: { client } }: TwoApis): Promise<boolean> {
  const [row] = await client.rows<[string, string]>({
    query: `SELECT
      (SELECT toString((sum(clicks), sum(leads), sum(sales))) FROM link_totals),
      (SELECT toString(((SELECT count() FROM click_events), (SELECT count() FROM lead_events), (SELECT count() FROM sale_events))))`,
  });
  return row !== undefined && row[0] === row[1];
}

// The short form of this is `services/standalone/test/promises/redis-failovers.test.ts`.
describe.runIf(FAULTS.isLong).each(DEPLOYMENTS)('with %s', (name, waitReplicas, start) => {
  it(
    'numbered events through two processes are stored once, and the API is ready again soon, whatever Redis does',
    async () => {
      const redis = await start();
      let lines = 0;
      const two = await startTwoApis({
        redisUrl: redis.url,
        settings: { REDIS_WAIT_REPLICAS: String(waitReplicas) },
        onLog: () => {
          lines += 1;
        },
      });
      const followed = { api: two.apis[0].url, token: two.token, filters: '' };
      const follower = new StreamFollower(followed);
      try {
        await follower.start();
        const visited = await useLinks(two);
        const visit = async () => (await two.apis[1].visit(two.domain, `/${visited}`)).location;
        const before = visitContinuously(visit);
        await delay(BEFORE_MS);
        const p99Before = p99(await before.stop());
        const startedMs = performance.now();
        const visits = visitContinuously(visit);
        const events = sendNumberedEvents(two, EVENTS, 0);
        let slowestReadyMs = 0;
        for (let fault = 0; fault < 2 * FAULTS_OF_A_KIND; fault++) {
          await events.progress(EVENTS_PER_FAULT);
          await (fault % 2 === 0 ? redis.failOver() : redis.killMaster());
          const failedMs = performance.now();
          await waitFor(() => isReady(two), { what: 'both processes to be ready', timeoutMs: READY_MS_MAX });
          slowestReadyMs = Math.max(slowestReadyMs, performance.now() - failedMs);
          await waitFor(() => useLinks(two), { what: 'the API to work', timeoutMs: READY_MS_MAX });
        }
        await events.finish();
        const latencies = await visits.stop();
        const seconds = (performance.now() - startedMs) / 1000;
        await untilDrained(redis.url, FAULTS.settleMs);

        const { lost, doubled } = await events.compare(two.database.client);
        const faults = `${FAULTS_OF_A_KIND} × ${waitReplicas === 0 ? 'restart' : 'failover'}, ${FAULTS_OF_A_KIND} × kill -9`;
        const viewsEqual = await areViewsEqual(two);
        report.push({
          scenario: name,
          faults,
          events: 3 * EVENTS,
          lost: lost.length,
          twice: doubled.length,
          viewsEqual,
        });
        const linesPerSecond = lines / seconds / PROCESSES;
        console.log(
          `${name}: ready after ${Math.round(slowestReadyMs)} ms, a call took ${Math.round(events.longestMs())} ms at most, redirects p99 ${Math.round(p99(latencies))} ms (${Math.round(p99Before)} before), ${linesPerSecond.toFixed(1)} log lines a second and process`,
        );
        expect({ lost: lost.slice(0, 5), doubled: doubled.slice(0, 5), viewsEqual }).toEqual({
          lost: [],
          doubled: [],
          viewsEqual: true,
        });
        expect(latencies[0]).toBeGreaterThan(0);
        expect(p99(latencies)).toBeLessThan(Math.max(REDIRECT_P99_MS_MAX, REDIRECT_P99_RATIO_MAX * p99Before));
        expect(linesPerSecond).toBeLessThan(LOG_LINES_PER_SECOND_MAX);
        // The last clicks may be stored in between.
        const compared = async () => {
          const listed = new Set(await listAll(followed));
          const sent = new Set(follower.events);
          return {
            events: listed.size,
            notSent: [...listed].filter((id) => !sent.has(id)),
            notListed: [...sent].filter((id) => !listed.has(id)),
            sentTwice: follower.events.length - sent.size,
            gaps: [...follower.gaps],
          };
        };
        const isSame = async () => {
          const { notSent, notListed } = await compared();
          return notSent.length + notListed.length === 0;
        };
        await waitFor(isSame, { what: 'the stream to have the events of the list' }).catch(() => undefined);
        const { events: eventsListed, ...differences } = await compared();
        expect(differences).toEqual({ notSent: [], notListed: [], sentTwice: 0, gaps: [] });
        expect(eventsListed).toBeGreaterThanOrEqual(3 * EVENTS);
      } finally {
        await follower.stop();
        await two.close();
        await redis.stop();
      }
    },
    SCENARIO_MS,
  );
});
