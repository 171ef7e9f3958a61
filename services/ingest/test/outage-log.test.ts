import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCatalog } from '@waymark/catalog';
import { createClickHouseClient } from '@waymark/clickhouse';
import { createEventProducer } from '@waymark/event-queue';
import { createLogger } from '@waymark/http-kit';
import { temporaryDirectory } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAppStoreClicks } from '../src/app-store-clicks.js';
import { createRedirector, type RedirectDeps } from '../src/redirect/redirector.js';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from './test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
});
afterAll(() => ingest.stop());

const VISITS = 60;
const silent = createLogger({ name: 'test', level: 'silent' });

/** Sends visits of different visitors, and returns their statuses and the logged messages. */
async function visitsWith(overrides: Partial<RedirectDeps>, pathOf: (index: number) => string) {
  const messages: string[] = [];
  const log = (_context: object, message: string) => void messages.push(message);
  const logger = { error: log, warn: log } as unknown as RedirectDeps['logger'];
  const { answer } = createRedirector({ ...ingest.deps, defaultDomain: undefined, ...overrides, logger });
  const startedMs = performance.now();
  const answers = await Promise.all(
    Array.from({ length: VISITS }, (_, index) =>
      answer({
        method: 'GET',
        target: pathOf(index),
        headers: { host: DOMAIN, 'user-agent': BROWSER, 'x-forwarded-for': `203.0.113.${index}` },
        remoteAddress: '127.0.0.1',
      }),
    ),
  );
  const linesMax = 1 + Math.floor((performance.now() - startedMs) / 1000);
  return { statuses: new Set(answers.map(({ status }) => status)), messages, linesMax };
}

describe('while a store is away, visitors cannot fill the disk with log lines: there is one a second of', () => {
  it('links that cannot be looked up', async () => {
    const clickhouse = createClickHouseClient({ url: 'http://127.0.0.1:9', database: 'none' });
    const redis = new Redis(ingest.redis.url);
    const catalog = createCatalog({
      ...{ redis, clickhouse, instanceKey: Buffer.alloc(32, 7), now: Date.now, logger: silent },
      baseUrl: 'http://api.test',
    });
    const { statuses, messages, linesMax } = await visitsWith({ catalog }, (index) => `/unknown-${index}`);
    expect(statuses).toEqual(new Set([503]));
    expect(new Set(messages)).toEqual(new Set(['a short link could not be opened']));
    expect(messages.length).toBeLessThanOrEqual(linesMax);
    await catalog.close();
    await clickhouse.close();
    redis.disconnect();
  });

  it('clicks that cannot be recorded', async () => {
    const { key } = await ingest.link();
    const file = join(temporaryDirectory('waymark-outage-'), 'file');
    writeFileSync(file, '');
    const spoolDirectory = join(file, 'spool');
    const producer = createEventProducer({ redisUrl: 'redis://127.0.0.1:9', spoolDirectory, logger: silent });
    const { statuses, messages, linesMax } = await visitsWith({ producers: [producer] }, () => `/${key}`);
    expect(statuses).toEqual(new Set([302]));
    expect(new Set(messages)).toEqual(new Set(['a click could not be recorded']));
    expect(messages.length).toBeLessThanOrEqual(linesMax);
    await producer.close();
  });

  it('clicks to app stores that cannot be stored', async () => {
    const link = await ingest.link();
    const redis = new Redis('redis://127.0.0.1:9', { lazyConnect: true, enableOfflineQueue: false });
    redis.on('error', () => undefined);
    const messages: string[] = [];
    const logger = { warn: (_context: object, message: string) => void messages.push(message) };
    const { record, find } = createAppStoreClicks({ redis, secret: Buffer.alloc(32), logger });
    const startedMs = performance.now();
    for (let index = 0; index < VISITS; index++) record(link, `203.0.113.${index}`, 'click');
    await expect(find(DOMAIN, '203.0.113.1')).rejects.toThrow();
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.length).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startedMs) / 1000));
    redis.disconnect();
  });
});
