import { queueDepths } from '@waymark/event-queue';
import { waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, SCENARIO_MS } from './fault-length.js';
import { type ReportLine, writeReportSection } from './fault-report.js';
import { compareWithStore } from './queue/compare-with-store.js';
import { Traffic, WritePath } from './queue/write-path.js';

// Redis is filled by the queue, and then completely by other keys. BullMQ cannot even complete a job at
// the limit, so the writers' memory reserve must be enough to recover.

const LIMIT_MB = FAULTS.isLong ? 64 : 32;
const report: ReportLine[] = [];
let path: WritePath;
let redis: Redis;

beforeAll(async () => {
  path = await WritePath.start({ redisArgs: ['--maxmemory', `${LIMIT_MB}mb`] });
  redis = new Redis(path.redis.url, { maxRetriesPerRequest: null });
}, 120_000);
afterAll(async () => {
  redis?.disconnect();
  await path?.stop();
  if (FAULTS.isLong) writeReportSection('Write path, memory', report);
}, 120_000);

async function usedShare(): Promise<number> {
  const info = await redis.info('memory');
  return Number(/^used_memory:(\d+)/m.exec(info)?.[1]) / Number(/^maxmemory:(\d+)/m.exec(info)?.[1]);
}

/** Fills the remaining memory with keys of another application, down to the last kilobyte. */
async function fillUp(): Promise<void> {
  for (const bytes of [100_000, 10_000, 1000, 100]) {
    for (let number = 0; ; number++) {
      const answer = await redis.set(`ballast:${bytes}:${number}`, Buffer.alloc(bytes)).catch(() => 'full');
      if (answer !== 'OK') break;
    }
  }
}

describe('a Redis at its memory limit', () => {
  it(
    'sheds, spools and drains without losing anything, even when the last byte is taken',
    async () => {
      // Large rows, because claims stay for an hour and those of many small clicks would fill the memory instead of the queue.
      const traffic = new Traffic(path, {
        clicks: 100,
        sales: 20,
        // Fills the memory within seconds; the short form leaves the processor to the tests beside it.
        pauseMs: FAULTS.isLong ? 0 : 40,
        padding: { every: 1, characters: 1000 },
      });
      await traffic.progress(500);
      await path.clickhouse.kill9();
      await waitFor(() => (traffic.sentEvents.refusals['429'] ?? 0) > 0, {
        what: 'sales to be shed',
        timeoutMs: 120_000,
      });
      await waitFor(async () => (await usedShare()) > 0.8, { what: 'clicks to fill the queue', timeoutMs: 120_000 });
      await traffic.progress(1000);
      await fillUp();
      expect(await usedShare()).toBeGreaterThan(0.97);
      await traffic.progress(1000);
      await path.clickhouse.restart();
      const isDrained = async () => {
        const { click, lead, sale, customer } = await queueDepths(redis);
        return [click, lead, sale, customer].every(({ waiting, active }) => waiting + active < 20);
      };
      await waitFor(isDrained, { what: 'the queue to drain beside the ballast', timeoutMs: FAULTS.settleMs });
      await redis.unlink(...(await redis.keys('ballast:*')));
      await traffic.progress(1000);
      await traffic.stop();
      const result = await compareWithStore(path.client, traffic.workspaceId, traffic.sentEvents);
      report.push({
        scenario: `Redis limited to ${LIMIT_MB} MB`,
        faults: 'ClickHouse away, memory full',
        events: result.acknowledged,
        lost: result.lost.length,
        twice: result.twice.length,
        viewsEqual: result.viewsDiffer.length === 0,
      });
      expect({ lost: result.lost.slice(0, 5), twice: result.twice.slice(0, 5), views: result.viewsDiffer }).toEqual({
        lost: [],
        twice: [],
        views: [],
      });
      expect(traffic.sentEvents.failedClicks).toEqual([]);
    },
    SCENARIO_MS,
  );
});
