import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  elapsedMs,
  leastOf,
  type RedisDeployment,
  startRedisCluster,
  startRedisSentinels,
  waitFor,
} from '@waymark/test-kit';
import { describe, expect, it } from 'vitest';
import { listAll, StreamFollower } from '../../../../test/faults/stack/stream-follower.js';
import { isReady, p99, visitContinuously } from './continuous-visits.js';
import { startTwoApis, type TwoApis } from './two-apis.js';

/** The whole API while a replica of Redis takes the master's place. The two installations mostly wait, so they run at the same time. */

const READY_MS_MAX = 15_000;
/** Less than a failover takes, so no redirect waits for one. */
const REDIRECT_P99_MS_MAX = 500;
/** On a machine that is busy with other tests: how much longer than before the failovers. */
const REDIRECT_P99_RATIO_MAX = 4;
const BEFORE_MS = 3_000;
const LOG_LINES_PER_SECOND_MAX = 10;
const PROCESSES = 3;
const DEPLOYMENTS: [string, () => Promise<RedisDeployment>][] = [
  ['Sentinels', startRedisSentinels],
  ['a cluster', startRedisCluster],
];

/**
 * Creates, changes and uses a link through one process, and reads each step through the other.
 *
 * @returns the invoice of a sale that was reported through both
 */
async function useApi({ apis: [one, other], domain, aClick }: TwoApis): Promise<string> {
  const key = randomUUID();
  const { id } = await one.dub.links.create({ domain, key, url: 'https://acme.example/first' });
  expect((await other.visit(domain, `/${key}`)).location).toBe('https://acme.example/first');
  await one.dub.links.update(id, { url: 'https://acme.example/second' });
  expect((await other.visit(domain, `/${key}`)).location).toBe('https://acme.example/second');
  const lead = { clickId: await aClick(one), eventName: 'Sign up', customerExternalId: `customer of ${key}` };
  await one.dub.track.lead(lead);
  const customers = await other.dub.customers.list({ externalId: lead.customerExternalId });
  expect(customers.result.map(({ externalId }) => externalId)).toEqual([lead.customerExternalId]);
  const sale = { customerExternalId: lead.customerExternalId, amount: 100, invoiceId: key };
  await other.dub.track.sale(sale);
  await one.dub.track.sale(sale);
  return key;
}

/** The invoices of all sales in ClickHouse, in order. */
async function storedInvoices({ apis: [one] }: TwoApis): Promise<string[]> {
  const { body } = await one.call<{ sale: { invoiceId: string } }[]>(
    'GET',
    '/events?event=sales&interval=24h&limit=1000',
  );
  return body.map(({ sale }) => sale.invoiceId).sort();
}

describe.concurrent.each(DEPLOYMENTS)('with %s', (_name, start) => {
  it('the API goes on after a failover and a kill of the master, redirects never stop, and a stream that resumes misses nothing', async () => {
    const redis = await start();
    let lines = 0;
    const two = await startTwoApis({
      redisUrl: redis.url,
      settings: { REDIS_WAIT_REPLICAS: '1' },
      onLog: () => {
        lines += 1;
      },
    });
    const followed = { api: two.apis[0].url, token: two.token, filters: '' };
    const follower = new StreamFollower(followed);
    try {
      await follower.start();
      const invoices = [await useApi(two)];
      const [visited] = invoices;
      const startedMs = performance.now();
      const visit = async () => (await two.apis[1].visit(two.domain, `/${visited}`)).location;
      const before = visitContinuously(visit);
      await delay(BEFORE_MS);
      const p99Before = p99(await before.stop());
      const visits = visitContinuously(visit);
      for (const fail of [redis.failOver, redis.killMaster]) {
        const longestMs = await leastOf(READY_MS_MAX, async () => {
          await fail();
          const readyMs = await elapsedMs(() => waitFor(() => isReady(two), { what: 'both processes to be ready' }));
          const usedMs = await elapsedMs(async () => {
            invoices.push(await waitFor(() => useApi(two), { what: 'the API to work' }));
          });
          return Math.max(readyMs, usedMs);
        });
        expect(longestMs).toBeLessThanOrEqual(READY_MS_MAX);
      }
      const latencies = await visits.stop();
      const seconds = (performance.now() - startedMs) / 1000;
      expect(latencies[0]).toBeGreaterThan(0);
      expect(p99(latencies)).toBeLessThan(Math.max(REDIRECT_P99_MS_MAX, REDIRECT_P99_RATIO_MAX * p99Before));
      expect(lines / seconds / PROCESSES).toBeLessThan(LOG_LINES_PER_SECOND_MAX);
      await waitFor(async () => invoices.every(Set.prototype.has, new Set(await storedInvoices(two))), {
        what: 'all sales',
      });
      const stored = await storedInvoices(two);
      expect(stored).toEqual([...new Set(stored)]);
      // The last clicks may be stored in between.
      const listed = await waitFor(
        async () => {
          const ids = await listAll(followed);
          return ids.length === follower.events.length && ids;
        },
        { what: 'as many events in the stream as in the list' },
      );
      expect(listed.length).toBeGreaterThanOrEqual(3 * invoices.length);
      expect([follower.events.toSorted(), follower.gaps]).toEqual([listed.toSorted(), []]);
    } finally {
      await follower.stop();
      await two.close();
      await redis.stop();
    }
  }, 240_000);
});
