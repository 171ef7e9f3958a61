import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { startClickHouse, startRedis, type TestClickHouse, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createInstanceRegistry, type Instance } from '../src/components/instance-registry.js';
import { type ComponentStatus, type ComponentWatch, startComponentWatch } from '../src/index.js';

let redisServer: TestRedis;
let clickhouseServer: TestClickHouse;
let redis: Redis;
let clickhouse: ClickHouseClient;
let watches: ComponentWatch[] = [];
/** Milliseconds that the clock of the watches is ahead. */
let aheadMs = 0;
const now = () => Date.now() + aheadMs;
const logger = { debug() {}, warn() {} };

beforeAll(async () => {
  // Both are killed.
  [redisServer, clickhouseServer] = await Promise.all([startRedis({ args: [] }), startClickHouse()]);
  redis = new Redis(redisServer.url, {
    enableOfflineQueue: false,
    commandTimeout: 2000,
    retryStrategy: () => 20,
  });
  redis.on('error', () => {});
  clickhouse = createClickHouseClient({ url: clickhouseServer.url, database: 'default' });
  await waitFor(() => redis.status === 'ready', { what: 'Redis' });
});
beforeEach(async () => {
  aheadMs = 0;
  await redis.flushdb();
});
afterEach(async () => {
  await Promise.all(watches.map((watch) => watch.close()));
  watches = [];
});
afterAll(async () => {
  redis.disconnect();
  await clickhouse.close();
  await Promise.all([redisServer.stop(), clickhouseServer.stop()]);
});

function watchAs(service: string): ComponentWatch {
  const watch = startComponentWatch({ redis, clickhouse, service, version: '1', logger, now, intervalMs: 20 });
  watches.push(watch);
  return watch;
}

/** Waits until a component is in a state. */
function untilState(
  watch: ComponentWatch,
  component: string,
  state: ComponentStatus['state'],
): Promise<ComponentStatus> {
  return waitFor(
    () => watch.componentStatus().find((status) => status.component === component && status.state === state),
    { what: `${component} to be ${state}` },
  );
}

/** A process elsewhere. */
function anInstance(service: string, overrides: Partial<Instance> = {}): Instance {
  const at = now();
  const place = { service, instance: 'elsewhere:77', host: 'elsewhere', pid: 77 };
  return { ...place, startedAt: at, version: '1', lastWorkAt: null, beatAt: at, ...overrides };
}

describe('services', () => {
  it('are up from their start, and their status has the instance and the time of the last work', async () => {
    const watch = watchAs('http');
    const status = await untilState(watch, 'http', 'up');
    expect(status).toMatchObject({ starts: 1, kills: 0, detail: `runs as ${watch.instance}` });
    watch.noteWork();
    await waitFor(() => watch.componentStatus().some(({ detail }) => detail.includes('last work 20')), {
      what: 'the last work in the status',
    });
    expect(await redis.pttl(`{waymark}:heartbeat:http:${watch.instance}`)).toBeGreaterThan(5000);
  });

  it('are counted with their processes, so that a restart of all can be distinguished from one process that restarts often', async () => {
    const registry = createInstanceRegistry(redis);
    await registry.started(anInstance('query'));
    const watch = watchAs('query');
    const has = (processes: number) =>
      waitFor(() => watch.componentStatus().some((status) => status.processes === processes && status.starts === 2), {
        what: `${processes} processes`,
      });
    await has(2);
    await registry.stopped(anInstance('query'), now());
    await has(1);
  });

  it('that were stopped are down, not killed, and are no longer listed after an hour', async () => {
    const [watch, writer] = [watchAs('http'), watchAs('writer')];
    await untilState(watch, 'writer', 'up');
    await writer.close();
    const status = await untilState(watch, 'writer', 'down');
    expect(status).toMatchObject({ starts: 1, kills: 0, detail: expect.stringContaining('was stopped at') });
    aheadMs = 61 * 60_000;
    await waitFor(() => watch.componentStatus().every(({ component }) => component !== 'writer'), {
      what: 'the writer to be removed from the status',
    });
  });

  it('that were killed on this host are recorded by the next one, which is shown as restarted', async () => {
    const registry = createInstanceRegistry(redis);
    const { instance, pid } = await (async () => {
      const watch = watchAs('query');
      await untilState(watch, 'query', 'up');
      await watch.close();
      return { instance: watch.instance, pid: process.pid };
    })();
    // A killed process leaves its entry and its heartbeat behind.
    const host = instance.slice(0, instance.lastIndexOf(':'));
    await registry.started(anInstance('writer', { instance, host, pid, startedAt: 1 }));
    const watch = watchAs('writer');
    const status = await untilState(watch, 'writer', 'restarted');
    expect(status).toMatchObject({ starts: 2, kills: 1, detail: expect.stringContaining(`${instance} was killed at`) });
    expect((await watch.processChanges()).slice(0, 2).map(({ event, service }) => `${service} ${event}`)).toEqual([
      'writer started',
      'writer killed',
    ]);
    aheadMs = 6 * 60_000;
    await untilState(watch, 'writer', 'up');
  });

  it('without a heartbeat on another host are down and named, and count as killed once, however many processes watch them', async () => {
    const registry = createInstanceRegistry(redis);
    const [watch] = [watchAs('http'), watchAs('query')];
    await untilState(watch, 'http', 'up');
    aheadMs = 60_000;
    await registry.started(anInstance('writer', { beatAt: now() - 11_000 }));
    await redis.del('{waymark}:heartbeat:writer:elsewhere:77');
    const status = await waitFor(
      () => watch.componentStatus().find(({ component, kills }) => component === 'writer' && kills === 1),
      { what: 'the writer to count as killed' },
    );
    expect(status).toMatchObject({
      state: 'down',
      kills: 1,
      detail: expect.stringContaining('elsewhere:77 was killed'),
    });
    const killed = (await watch.processChanges()).filter(({ event }) => event === 'killed');
    expect(killed).toMatchObject([{ service: 'writer', instance: 'elsewhere:77', pid: 77 }]);
  });

  it('that were killed are down until they run again, or others run that do the same work', async () => {
    const registry = createInstanceRegistry(redis);
    const watch = watchAs('query');
    await untilState(watch, 'query', 'up');
    const http = anInstance('http');
    await registry.started(http);
    const entry = (await registry.read()).instances.find(({ instance }) => instance.service === 'http');
    await redis.del('{waymark}:heartbeat:http:elsewhere:77');
    await registry.markKilled(entry as { instance: Instance; raw: string }, now());
    aheadMs = 30 * 24 * 3_600_000;
    const isDown = ({ state, detail }: ComponentStatus) =>
      state === 'down' && detail.includes('elsewhere:77 was killed at');
    await waitFor(() => watch.componentStatus().some(isDown), { what: 'the service to be down for being killed' });
    for (const service of ['ingest', 'management']) await untilState(watchAs(service), service, 'up');
    await waitFor(() => watch.componentStatus().every(({ component }) => component !== 'http'), {
      what: 'the service to be removed from the status',
    });
  });

  it('that counted as killed and send heartbeats again are up; their status has "silent" instead of "killed"', async () => {
    const registry = createInstanceRegistry(redis);
    const [watch] = [watchAs('http'), watchAs('query')];
    await untilState(watch, 'http', 'up');
    aheadMs = 60_000;
    const hung = anInstance('writer', { beatAt: now() - 11_000 });
    await registry.started(hung);
    await redis.del('{waymark}:heartbeat:writer:elsewhere:77');
    expect((await untilState(watch, 'writer', 'down')).state).toBe('down');
    await waitFor(() => watch.componentStatus().some(({ kills }) => kills === 1), {
      what: 'the writer to count as killed',
    });
    await registry.beat({ ...hung, beatAt: now() });
    const status = await untilState(watch, 'writer', 'up');
    expect(status.detail).toContain('elsewhere:77 was silent at');
    expect(status.detail).not.toContain('killed');
  });

  it('with several instances are up while one is, and their status has how many are missing', async () => {
    const registry = createInstanceRegistry(redis);
    const watch = watchAs('writer');
    await registry.started(anInstance('writer'));
    await redis.del('{waymark}:heartbeat:writer:elsewhere:77');
    await waitFor(() => watch.componentStatus().some(({ detail }) => detail.includes('1 more without a heartbeat')), {
      what: 'the missing instance in the status',
    });
    expect((await untilState(watch, 'writer', 'up')).kills).toBe(0);
  });

  it('invalid entries in the registry are ignored', async () => {
    await redis.hset('{waymark}:instances', 'a:b', 'no json', 'c:d', '{"pid":"x"}');
    await redis.hset('{waymark}:last-ends', 'writer', '[]');
    expect((await untilState(watchAs('http'), 'http', 'up')).starts).toBe(1);
  });
});

describe('stores', () => {
  it('a ClickHouse that was killed is down, with since when and why, and restarted when it is back', async () => {
    const watch = watchAs('http');
    const before = await untilState(watch, 'clickhouse', 'up');
    expect(before).toMatchObject({ starts: 1, detail: expect.stringContaining('ClickHouse 2') });
    const killedMs = Date.now();
    await clickhouseServer.kill9();
    const down = await untilState(watch, 'clickhouse', 'down');
    expect(down.detail).not.toBe('');
    expect(down.since).toBeGreaterThanOrEqual(killedMs);
    expect(down.since).toBeLessThanOrEqual(Date.now());
    expect((await untilState(watch, 'http', 'up')).kills).toBe(0);
    await clickhouseServer.restart();
    expect((await untilState(watch, 'clickhouse', 'restarted')).starts).toBeGreaterThanOrEqual(2);
  });

  it('a Redis that was killed is down; services are unknown, and none counts as killed for it', async () => {
    const [watch, writer] = [watchAs('http'), watchAs('writer')];
    await untilState(watch, 'writer', 'up');
    expect(watch.redisMemory()[0]?.usedBytes).toBeGreaterThan(0);
    await redisServer.kill9();
    await untilState(watch, 'redis', 'down');
    await untilState(watch, 'writer', 'unknown');
    expect(watch.redisMemory()).toEqual([]);
    expect(watch.componentStatus().find(({ component }) => component === 'http')?.state).toBe('up');

    // During the outage no heartbeat could be sent.
    aheadMs = 60_000;
    await redisServer.restart();
    await untilState(watch, 'redis', 'restarted');
    await untilState(writer, 'writer', 'up');
    expect((await untilState(watch, 'writer', 'up')).kills).toBe(0);
    expect((await watch.processChanges()).map(({ event }) => event)).not.toContain('killed');
  });
});
