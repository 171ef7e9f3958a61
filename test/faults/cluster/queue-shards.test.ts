import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { elapsedMs, leastOf, type TestRedis, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from '../fault-length.js';
import { type ReportLine, writeReportSection } from '../fault-report.js';
import { compareWithStore } from '../stack/compare-with-store.js';
import { ShardedStack } from './sharded-stack.js';
import { WorkspaceTraffic } from './workspace-traffic.js';

// Two processes of the API and a writer on two queue shards, later three, under numbered traffic of several workspaces.

const READY_MS_MAX = 15_000;
/**
 * Which redirects must be quick while a shard is away. In the short run, beside other tests, single redirects wait for the processor;
 * half of them would be late only if they waited for the shard.
 */
const REDIRECT_QUANTILE = FAULTS.isLong ? 0.99 : 0.5;
const REDIRECT_MS_MAX = 500;
/** On a machine that is busy with other tests: how much longer than before the fault. */
const REDIRECT_RATIO_MAX = 4;
const ROUNDS = FAULTS.isLong ? 5 : 1;
/** Acknowledged sales of each workspace between two steps. */
const SALES = FAULTS.isLong ? 20 : 3;
const PAUSE_MS = FAULTS.isLong ? 250 : 800;
const report: ReportLine[] = [];

let stack: ShardedStack;
let traffics: WorkspaceTraffic[] = [];
/** The invoices that the webhook of a workspace on shard 1 was sent. */
const delivered = new Set<string>();
/** How many visitors that workspace had had before. */
let visitorsBefore = 0;
const receiver = createServer(async (request, response) => {
  const { data } = JSON.parse(await text(request)) as { data: { sale: { invoiceId: string } } };
  delivered.add(data.sale.invoiceId);
  response.end();
});

const on = (shard: number) => traffics.filter((traffic) => traffic.shard === shard);
const progress = (of: readonly WorkspaceTraffic[], sales = SALES) =>
  Promise.all(of.map((traffic) => traffic.progress(sales)));
const mark = () => {
  for (const traffic of traffics) traffic.mark();
};
/** How long the redirects of shard 0 may take while another shard is away; call it before. */
const redirectMsMax = () => {
  const before = on(0).map((traffic) => traffic.redirectTime(REDIRECT_QUANTILE));
  return Math.max(REDIRECT_MS_MAX, REDIRECT_RATIO_MAX * Math.max(...before));
};

/** Fails if redirects of shard 0 were late since the last mark and, in the short run, are late again while the other shard is away. */
async function expectQuickRedirects(quickMs: number): Promise<void> {
  const slowestMs = () => Math.max(...on(0).map((traffic) => traffic.redirectTime(REDIRECT_QUANTILE)));
  for (let more = FAULTS.isLong ? 0 : 2; more > 0 && slowestMs() >= quickMs; more--) {
    for (const traffic of on(0)) traffic.redirectMs = [];
    await progress(on(0));
  }
  expect(slowestMs()).toBeLessThan(quickMs);
}

/**
 * Fails if workspaces record no sale within 15 s after their shard, which is away, has come back. On a machine that is busy with other
 * tests it goes away again, as long as before, and the shortest of three times counts.
 */
async function expectUsedAgain(
  of: readonly WorkspaceTraffic[],
  { goAway, comeBack }: { readonly goAway: () => unknown; readonly comeBack: () => unknown },
): Promise<void> {
  let time = 0;
  const measure = async () => {
    if (time++ > 0) {
      await goAway();
      await Promise.all([...of.map((traffic) => traffic.clicks(SALES)), delay(FAULTS.awayMs)]);
    }
    await comeBack();
    return elapsedMs(() => progress(of, 1));
  };
  expect(await leastOf(READY_MS_MAX, measure, FAULTS.isLong ? 1 : 3)).toBeLessThanOrEqual(READY_MS_MAX);
}

beforeAll(async () => {
  receiver.listen(0, '127.0.0.1');
  stack = await ShardedStack.start(2);
  for (const slug of ['one', 'two', 'three', 'four']) {
    traffics.push(await WorkspaceTraffic.start(stack, slug, PAUSE_MS));
  }
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const webhook = { name: 'Sales', url, triggers: ['sale.created'] };
  const made = await Promise.all([
    ...traffics.map((traffic) => traffic.call(0, 'POST', '/customers', { externalId: 'made', country: 'FR' })),
    on(1)[0]?.call(0, 'POST', '/webhooks', webhook),
  ]);
  expect(made.map((answer) => answer?.status)).toEqual([201, 201, 201, 201, 201]);
  visitorsBefore = on(1)[0]?.visitors ?? 0;
}, 180_000);
afterAll(async () => {
  receiver.close();
  await Promise.all(traffics.map((traffic) => traffic.stop()));
  await stack?.stop();
  if (FAULTS.isLong) writeReportSection('Queue shards', report);
}, 120_000);

describe('with two queue shards', () => {
  it('new workspaces are spread over them', () => {
    expect(traffics.map(({ shard }) => shard)).toEqual([0, 1, 0, 1]);
  });

  it(
    'one that is killed leaves the workspaces of the other alone, and is used again within 15 s',
    async () => {
      await progress(traffics);
      for (let round = 0; round < ROUNDS; round++) {
        mark();
        await progress(traffics);
        const quickMs = redirectMsMax();
        const stream = await on(0)[0]?.stream();

        await stack.shards[1]?.kill9();
        const framesBefore = stream?.frames.length ?? 0;
        mark();
        const refused = (traffic: WorkspaceTraffic) =>
          waitFor(() => traffic.failures.length > 0, { what: 'a refusal of what needs the shard' });
        await Promise.all([progress(on(0)), ...on(1).map((traffic) => traffic.clicks(SALES)), ...on(1).map(refused)]);
        expect((await stack.readiness()).slice(0, 2)).toEqual([200, 200]);
        for (const traffic of on(0)) {
          expect(traffic.failuresOf('/try')).toEqual([]);
          // A busy machine may refuse some by itself.
          expect(traffic.failures.length).toBeLessThanOrEqual(FAULTS.isLong ? 0 : traffic.acknowledged);
        }
        await expectQuickRedirects(quickMs);
        for (const traffic of on(1)) {
          expect(traffic.failuresOf('/try')).toEqual([]);
          const refusals = traffic.failures.map(({ status, retryAfter }) => `${status}, ${retryAfter}`);
          expect([...new Set(refusals)]).toEqual(['500, 1']);
        }

        await waitFor(() => (stream?.frames.length ?? 0) > framesBefore, { what: 'sales in the stream' });
        await stream?.close();

        await stack.killWriter();
        await Promise.all(on(0).map((traffic) => traffic.clicks(SALES)));
        const started = stack.startWriter();
        const goAway = () => stack.shards[1]?.kill9();
        await expectUsedAgain(on(1), { goAway, comeBack: () => stack.shards[1]?.restart() });
        await started;
        const isReady = async () => (await stack.readiness()).every((status) => status === 200);
        await waitFor(isReady, { what: 'every process to be ready', timeoutMs: READY_MS_MAX });
        const late = await on(1)[0]?.stream();
        await late?.until(({ event }) => event === 'sale', 'a sale on the shard that was away');
        await late?.close();
      }
    },
    SCENARIO_MS,
  );

  it(
    'one that answers nothing, though its connections stay open, leaves the workspaces of the other alone, too',
    async () => {
      await progress(traffics);
      const quickMs = redirectMsMax();
      const frozen = stack.shards[1]?.pid ?? 0;
      const goAway = () => process.kill(frozen, 'SIGSTOP');
      const comeBack = () => process.kill(frozen, 'SIGCONT');
      goAway();
      try {
        mark();
        await Promise.all([...on(0).map((traffic) => traffic.progress(3 * SALES)), delay(FAULTS.awayMs)]);
        await Promise.all(on(1).map((traffic) => traffic.clicks(SALES)));
        for (const traffic of on(0)) {
          expect(traffic.failuresOf('/try')).toEqual([]);
          expect(traffic.failures.length).toBeLessThanOrEqual(FAULTS.isLong ? 0 : traffic.acknowledged);
        }
        await expectQuickRedirects(quickMs);
        for (const traffic of on(1)) expect(traffic.failuresOf('/try')).toEqual([]);
        await expectUsedAgain(on(1), { goAway, comeBack });
      } finally {
        comeBack();
      }
    },
    SCENARIO_MS,
  );

  it(
    'every redirect goes on while shard 0 is away, the Redis of locks and caches',
    async () => {
      mark();
      await stack.shards[0]?.kill9();
      await Promise.all([...traffics.map((traffic) => traffic.clicks(SALES)), delay(FAULTS.awayMs)]);
      const goAway = () => stack.shards[0]?.kill9();
      await expectUsedAgain(traffics, { goAway, comeBack: () => stack.shards[0]?.restart() });
      for (const traffic of traffics) expect(traffic.failuresOf('/try')).toEqual([]);
    },
    SCENARIO_MS,
  );

  it(
    'a third one, added under traffic, moves no workspace and takes the next one',
    async () => {
      await stack.addShard();
      await stack.killWriter();
      await progress(traffics);
      expect(await Promise.all(traffics.map((traffic) => traffic.listsLastCustomer()))).toEqual([
        true,
        true,
        true,
        true,
      ]);
      await Promise.all([stack.startWriter(), stack.startApi(0)]);
      await progress(traffics);
      await stack.startApi(1);
      traffics = [...traffics, await WorkspaceTraffic.start(stack, 'five', PAUSE_MS)];
      expect(traffics.map(({ shard }) => shard)).toEqual([0, 1, 0, 1, 2]);
      await progress(traffics);
      for (const shard of [0, 1, 2]) {
        const claims = await stack.conversionClaims(shard);
        const owners = new Set(claims.map((claim) => traffics.find(({ workspaceId }) => claim.includes(workspaceId))));
        expect([...owners].map((owner) => owner?.shard)).toEqual(on(shard).map(() => shard));
      }
    },
    SCENARIO_MS,
  );

  it('a process that is not given the list ends, so that it uses no other shard', async () => {
    const [first] = stack.shards as [TestRedis];
    expect(await stack.exitCodeWith([first])).toBe(1);
  });

  it(
    'every acknowledged event is in ClickHouse exactly once after all of that',
    async () => {
      await Promise.all(traffics.map((traffic) => traffic.stop()));
      await stack.drained(FAULTS.settleMs);
      const [watched] = on(1);
      const invoices = watched?.invoicesSince(visitorsBefore) ?? [];
      expect(invoices.length).toBeGreaterThan(SALES);
      const isDelivered = () => invoices.every((invoice) => delivered.has(invoice));
      await waitFor(isDelivered, { what: 'the deliveries to the webhook' });
      const { url, database } = stack.database;
      for (const { sentEvents, shard } of traffics) {
        const { acknowledged, ...differences } = await compareWithStore(url, sentEvents, database);
        expect(differences).toEqual({ lost: [], twice: [], viewsDiffer: [] });
        expect(acknowledged).toBeGreaterThan(SALES);
        const faults = `${ROUNDS} × kill -9 of shard 1 and of the writer, shard 0 killed, shard 2 added`;
        const scenario = `a workspace on shard ${shard}`;
        report.push({ scenario, events: acknowledged, faults, lost: 0, twice: 0, viewsEqual: true });
      }
    },
    SCENARIO_MS,
  );
});
