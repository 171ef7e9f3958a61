import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { createEventId } from '@waymark/contract';
import { clickRowText } from '@waymark/event-format';
import {
  clickClaim,
  createEventProducer,
  createEventWriter,
  type EventProducer,
  type QueueLogger,
  queueDepths,
} from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';
import {
  createTestDatabase,
  startClickHouse,
  startRedis,
  type TestRedis,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { afterEach, describe, expect, it } from 'vitest';
import { mountSmallDisk, noSmallDisk, type SmallDisk } from './small-disk.js';
import { untilDrained } from './until-drained.js';

// The disk of the spool, of Redis and of the embedded ClickHouse fills up under traffic: what was acknowledged is in ClickHouse once
// there is room again, the log has the error, in few lines, and nothing has to be repaired by hand.

const reason = noSmallDisk();
const MEGABYTE = 1024 ** 2;
const SETTLE_MS = 60_000;
const CLICKS_AT_ONCE = 50;
const LOG_LINES_PER_SECOND_MAX = 10;

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

function smallDisk(megabytes: number): SmallDisk {
  const disk = mountSmallDisk(megabytes);
  cleanUp.push(disk.unmount);
  return disk;
}

async function redisServer(dataDir?: string): Promise<TestRedis> {
  const directory = dataDir ?? temporaryDirectory('waymark-disk-redis-');
  const redis = await startRedis({ dataDir: directory });
  cleanUp.push(async () => {
    await redis.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  return redis;
}

/** Warnings and errors of a process, and how many lines there were a second, over at least one. */
function recordingLogger() {
  const lines: string[] = [];
  const startedMs = performance.now();
  const add = (context: object, message: string) => {
    const { err } = context as { err?: unknown };
    lines.push(`${message} ${String(err)} ${err instanceof Error ? String(err.cause) : ''}`);
  };
  const logger: QueueLogger = { debug: () => undefined, info: () => undefined, warn: add, error: add };
  return { logger, lines, perSecond: () => lines.length / Math.max(1, (performance.now() - startedMs) / 1000) };
}

/** Clicks of one workspace, with the ids of those that were acknowledged. */
class Clicks {
  readonly acknowledged = new Set<string>();
  refused = 0;
  #number = 0;

  constructor(private readonly producer: EventProducer) {}

  async send(): Promise<void> {
    const one = async () => {
      this.#number += 1;
      const now = Date.now();
      const clickId = createEventId(now);
      const facts = { workspaceId: '7', linkId: '1', clickId, timestampMs: now, trigger: 'link' as const };
      const rowText = clickRowText({
        ...{ url: 'https://acme.com', country: 'FR', region: 'IDF', city: 'Paris', continent: 'EU', device: 'Desktop' },
        ...{
          browser: 'Firefox',
          os: 'Windows',
          userAgent: 'Mozilla',
          referer: '(direct)',
          refererUrl: '(direct)',
          ip: '',
        },
        ...facts,
      });
      await this.producer.recordClick({ claim: clickClaim('link', `visitor-${this.#number}`), clickId, rowText }).then(
        () => this.acknowledged.add(clickId),
        () => {
          this.refused += 1;
        },
      );
    };
    await Promise.all(Array.from({ length: CLICKS_AT_ONCE }, one));
  }

  /** Sends until `isDone`. */
  async sendUntil(isDone: () => boolean, what: string): Promise<void> {
    await waitFor(
      async () => {
        await this.send();
        return isDone();
      },
      { what, timeoutMs: SETTLE_MS },
    );
  }
}

function producerOf(redisUrl: string, logger: QueueLogger, spoolDirectory = temporaryDirectory('waymark-disk-spool-')) {
  const producer = createEventProducer({ redisUrl, spoolDirectory, logger });
  cleanUp.push(async () => {
    await producer.close();
    rmSync(spoolDirectory, { recursive: true, force: true });
  });
  return producer;
}

/** Every acknowledged click is stored, and every stored one once. */
async function expectOnce(client: ClickHouseClient, redisUrl: string, { acknowledged }: Clicks): Promise<void> {
  const read = async () =>
    (await client.rows<[string]>({ query: 'SELECT click_id FROM click_events' })).map(([id]) => id);
  await waitFor(async () => acknowledged.size <= (await read()).length, { what: 'all clicks', timeoutMs: SETTLE_MS });
  await untilDrained(redisUrl, SETTLE_MS);
  const ids = await read();
  const stored = new Set(ids);
  expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
  expect(ids.length).toBe(stored.size);
}

describe.skipIf(reason !== undefined)(`a full disk${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  it('of the spool: clicks are refused, not lost after an answer, and recorded again once there is room', async () => {
    const disk = smallDisk(16);
    const database = await createTestDatabase();
    cleanUp.push(database.drop);
    const redis = await redisServer();
    const log = recordingLogger();
    const directory = join(disk.directory, 'spool');
    mkdirSync(directory);
    const clicks = new Clicks(producerOf(redis.url, log.logger, directory));
    await clicks.send();
    await redis.kill9();
    disk.fill(64 * 1024);
    await clicks.sendUntil(() => clicks.refused > 500, 'the disk of the spool to be full');
    expect(log.lines.filter((line) => line.includes('neither in Redis nor on disk'))[0]).toContain('ENOSPC');
    expect(log.perSecond()).toBeLessThan(LOG_LINES_PER_SECOND_MAX);

    disk.free();
    const [before, refused] = [clicks.acknowledged.size, clicks.refused];
    await clicks.send();
    expect([clicks.acknowledged.size - before, clicks.refused - refused]).toEqual([CLICKS_AT_ONCE, 0]);
    await redis.restart();
    const writer = createEventWriter({ redisUrl: redis.url, clickhouse: database.client, logger: log.logger });
    cleanUp.push(() => writer.close());
    await expectOnce(database.client, redis.url, clicks);
  }, 120_000);

  it("of Redis' append-only file: Redis ends, clicks wait in the spool, and it has everything after a start with room", async () => {
    const disk = smallDisk(32);
    const database = await createTestDatabase();
    cleanUp.push(database.drop);
    const redis = await redisServer(join(disk.directory, 'redis'));
    const log = recordingLogger();
    const clicks = new Clicks(producerOf(redis.url, log.logger));
    await clicks.send();
    disk.fill(64 * 1024);
    const { pid } = redis;
    await clicks.sendUntil(() => !isRunning(pid), 'Redis to end');
    await clicks.send();
    expect(clicks.refused).toBe(0);
    expect(log.perSecond()).toBeLessThan(LOG_LINES_PER_SECOND_MAX);

    disk.free();
    await redis.restart();
    const writer = createEventWriter({ redisUrl: redis.url, clickhouse: database.client, logger: log.logger });
    cleanUp.push(() => writer.close());
    await expectOnce(database.client, redis.url, clicks);
  }, 120_000);

  it('of the embedded ClickHouse: the writer retries, no row goes to the dead letters, and all are written once there is room', async () => {
    const disk = smallDisk(160);
    const clickhouse = await startClickHouse({ dataDir: join(disk.directory, 'clickhouse') });
    cleanUp.push(() => clickhouse.stop());
    const client = createClickHouseClient({ url: clickhouse.url, database: 'waymark' });
    cleanUp.push(() => client.close());
    await migrate(client);
    const redis = await redisServer();
    const connection = connectRedis(redis.url);
    cleanUp.push(() => connection.disconnect());
    const log = recordingLogger();
    const clicks = new Clicks(producerOf(redis.url, log.logger));
    const writer = createEventWriter({ redisUrl: redis.url, clickhouse: client, logger: log.logger });
    cleanUp.push(() => writer.close());

    disk.fill(0);
    await clicks.sendUntil(() => log.lines.some((line) => /space/i.test(line)), 'an insert to fail for lack of space');
    expect(log.perSecond()).toBeLessThan(LOG_LINES_PER_SECOND_MAX);
    disk.free();
    await clicks.send();
    await expectOnce(client, redis.url, clicks);
    expect((await queueDepths(connection))['dead-letter'].waiting).toBe(0);
    expect(clicks.refused).toBe(0);
  }, 180_000);

  it('of the embedded ClickHouse in the middle of an insert: the insert is not acknowledged, and no row of before is lost', async () => {
    const disk = smallDisk(96);
    const clickhouse = await startClickHouse({ dataDir: join(disk.directory, 'clickhouse') });
    cleanUp.push(() => clickhouse.stop());
    const client = createClickHouseClient({ url: clickhouse.url, database: 'default' });
    cleanUp.push(() => client.close());
    // The engine reserves room for the rows before it writes, and none for their copies in the indexes.
    const indexes = ['a', 'b', 'c', 'd'].map((name) => `INDEX ${name} text TYPE set(0) GRANULARITY 1`);
    await client.command({
      query: `CREATE TABLE texts (n UInt64, text String, ${indexes.join(', ')}) ENGINE = MergeTree ORDER BY n
        SETTINGS non_replicated_deduplication_window = 100`,
    });
    const insert = (n: number, bytes: number) =>
      client.insert({
        table: 'texts',
        values: [{ n, text: randomBytes(bytes / 2).toString('hex') }],
        format: 'JSONEachRow',
        clickhouse_settings: { insert_deduplication_token: String(n) },
      });
    for (let n = 0; n < 20; n++) await insert(n, 1000);

    const { pid } = clickhouse;
    disk.fill(6 * MEGABYTE);
    await expect(insert(20, 4 * MEGABYTE)).rejects.toThrow();
    await waitFor(() => !isRunning(pid), { what: 'the engine to end' });
    disk.free();
    await clickhouse.restart();
    await insert(20, 4 * MEGABYTE);
    const rows = await client.rows<[number]>({
      query: 'SELECT toUInt32(n) FROM texts WHERE length(text) > 0 ORDER BY n',
    });
    expect(rows.map(([n]) => n)).toEqual(Array.from({ length: 21 }, (_, n) => n));
  }, 120_000);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
