import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FAULTS } from './fault-length.js';
import { compareWithStore } from './stack/compare-with-store.js';
import { RunningStack, type StackProcess } from './stack/running-stack.js';
import { listAll, StreamFollower, TailCommand } from './stack/stream-follower.js';
import { Traffic } from './stack/traffic.js';
import { untilDrained } from './until-drained.js';

// Starts the whole stack as `npm run up` does, sends traffic to its HTTP ports, and kills one child process after the other.

const { isLong } = FAULTS;
const KILLS = isLong ? 5 : 1;
const VISITORS = 24;
const EVENTS_BETWEEN_KILLS = isLong ? 5000 : 250;
const STILL_MS_MAX = 60_000;

let stack: RunningStack;

beforeAll(async () => {
  stack = await RunningStack.start();
});

afterAll(() => stack?.stop(), 60_000);

/**
 * Follows events in three ways: all, those of one link, and sales by the command line.
 *
 * @returns a function that waits for the last events and compares with `GET /events`
 */
async function followStreams({ apiKey: token, sentEvents }: Traffic) {
  const { api } = stack.state;
  const options = ['', 'key=link-4&domain=go.faults.test'].map((filters) => ({ api, token, filters }));
  const followers = options.map((each) => new StreamFollower(each));
  await Promise.all(followers.map((follower) => follower.start()));
  const sales = await TailCommand.start(stack, '--workspace', sentEvents.workspaceId, '--event', 'sales');

  return async () => {
    for (const [index, follower] of followers.entries()) {
      const listed = await listAll(options[index]!);
      await waitFor(() => follower.events.length >= listed.length, { what: 'the last events of a stream' });
      expect(follower.events.sort(), sales.status).toEqual(listed.sort());
      expect(follower.gaps).toEqual([]);
      expect(follower.connections).toBeGreaterThan(KILLS);
      await follower.stop();
    }
    await waitFor(() => sales.events.length >= sentEvents.saleInvoices.size, { what: 'the last sale' });
    expect(new Set(sales.events).size).toBe(sales.events.length);
    expect(sales.events).toHaveLength(sentEvents.saleInvoices.size);
    expect(await sales.stop(), sales.status).toBe(0);
    const { keys } = await stack.waymark('key', 'list', '--workspace', sentEvents.workspaceId);
    expect(JSON.stringify(keys)).not.toContain('Tail');
  };
}

/**
 * Resolves when `count` more events have been acknowledged, so that kills happen during traffic.
 *
 * @throws Error when no event is acknowledged for a minute
 */
async function progress(traffic: Traffic, count: number): Promise<void> {
  const target = traffic.acknowledged + count;
  while (traffic.acknowledged < target) {
    const { acknowledged } = traffic;
    await waitFor(() => traffic.acknowledged > acknowledged, { timeoutMs: STILL_MS_MAX, what: 'one more event' });
  }
}

describe('the whole stack under kill -9', () => {
  test(
    'every acknowledged click, lead and sale is stored exactly once whatever child is killed, listed with its customer, and sent by streams',
    async () => {
      const traffic = await Traffic.prepare(stack);
      const compareStreams = await followStreams(traffic);
      const running = traffic.run(VISITORS);
      const watching = traffic.watch();
      for (let round = 0; round < KILLS; round++) {
        for (const name of ['writer', 'redis', 'clickhouse', 'http'] satisfies StackProcess[]) {
          await progress(traffic, EVENTS_BETWEEN_KILLS);
          if (name === 'http') await traffic.whileHttpIsDown(() => stack.kill(name));
          else await stack.kill(name);
          // One fault at a time: a new http process has no link in memory, and needs a store to answer.
          if (name === 'clickhouse') await stack.untilClickHouseResponds();
        }
      }
      await progress(traffic, EVENTS_BETWEEN_KILLS);
      traffic.stop();
      await running;
      const pages = await watching;
      await untilDrained(stack.state.redis, 60_000);
      await compareStreams();
      const result = await compareWithStore(stack.state.clickhouse, traffic.sentEvents);
      traffic.close();
      expect(traffic.sentEvents.failedRedirects, stack.output).toEqual([]);
      expect(traffic.sentEvents.failedTracks).toEqual([]);
      expect([...traffic.sentEvents.orphans]).toEqual([]);
      expect(pages).toBeGreaterThan(KILLS * 4);
      expect({ lost: result.lost, twice: result.twice, viewsDiffer: result.viewsDiffer }).toEqual({
        lost: [],
        twice: [],
        viewsDiffer: [],
      });
      expect(result.acknowledged).toBeGreaterThan(KILLS * 4 * EVENTS_BETWEEN_KILLS);
    },
    isLong ? 3_600_000 : 900_000,
  );
});
