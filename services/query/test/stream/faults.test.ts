import { request } from 'node:http';
import { type ClickHouseClient, createClickHouseClient } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { startTcpProxy, type TcpProxy, type TestDatabase, waitFor } from '@waymark/test-kit';
import { afterEach, expect, test } from 'vitest';
import { idOf, type StreamWorld, sent, startStreamWorld } from './stream-world.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function aWorld(...options: Parameters<typeof startStreamWorld>): Promise<StreamWorld> {
  const world = await startStreamWorld(...options);
  closing.push(world.close);
  return world;
}

/** A world whose reads of events go through a proxy. A read without an answer fails after two seconds. */
async function aProxiedWorld(
  times: Parameters<typeof startStreamWorld>[0],
): Promise<StreamWorld & { proxy: TcpProxy }> {
  const proxies: TcpProxy[] = [];
  const clickhouseFor = async ({ url, database }: TestDatabase): Promise<ClickHouseClient> => {
    const proxied = new URL(url);
    const proxy = await startTcpProxy(Number(proxied.port));
    proxies.push(proxy);
    proxied.port = String(proxy.port);
    const client = createClickHouseClient({ url: proxied.href, database, requestTimeoutMs: 2_000 });
    closing.push(proxy.stop, client.close);
    return client;
  };
  return Object.assign(await aWorld(times, { clickhouseFor }), { proxy: proxies[0]! });
}

/** Opens a stream and reads nothing after its headers. */
function openWithoutReading({ url, workspace }: StreamWorld, query: string): Promise<void> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${workspace.token}` };
    request(`${url}/events/stream?${query}`, { headers }, (response) => {
      response.pause();
      response.once('error', () => undefined);
      resolve();
    }).end();
  });
}

/** Resumes a stream, again each time that it ends, until so many events were sent. @returns their ids */
async function sentWhenResumed(world: StreamWorld, count: number, lastEventId: string, query = ''): Promise<string[]> {
  const ids: string[] = [];
  for (let from = lastEventId; ids.length < count; ) {
    const stream = await world.open(query, { lastEventId: from });
    await waitFor(() => stream.isEnded() || ids.length + stream.frames.length >= count, { what: 'what was missed' });
    ids.push(...sent(stream));
    from = stream.lastId();
    await stream.close();
  }
  return ids;
}

/** Waits until a number of events of the workspace are in its tail. */
async function untilPublished({ query, workspace }: StreamWorld, count: number): Promise<void> {
  const tail = `{waymark}:tail:${parseResourceId('workspace', workspace.id)}`;
  await waitFor(async () => (await query.redis.xrevrange(tail, '+', '-', 'COUNT', 1))[0]?.[0].endsWith(`-${count}`), {
    what: 'the acknowledgement',
  });
}

test('while ClickHouse does not answer the stream stays open, and sends everything afterwards', async () => {
  const world = await aProxiedWorld({ heartbeatMs: 20 });
  const stream = await world.open();
  world.proxy.holdRequests();
  const clicks = [world.aClick(), world.aClick()];
  for (const click of clicks) await world.add('click', click);
  await untilPublished(world, 2);
  const heartbeats = stream.comments.length;
  await waitFor(() => stream.comments.length > heartbeats + 2, { what: 'heartbeats meanwhile' });
  expect(stream.frames).toEqual([]);
  world.proxy.pass();
  await stream.until(() => stream.frames.length === 2, 'both clicks');
  expect(sent(stream).sort()).toEqual(clicks.map(idOf).sort());
});

test('a stream that waits too long for ClickHouse ends with bye, and a client that resumes gets everything', async () => {
  const world = await aProxiedWorld({ giveUpAfterMs: 300 });
  const stream = await world.open();
  world.proxy.holdRequests();
  const click = world.aClick();
  await world.add('click', click);
  const { data } = await stream.until(({ event }) => event === 'bye', 'the end');
  expect(JSON.parse(data)).toEqual({ reason: 'unavailable' });
  await stream.untilEnded();
  world.proxy.pass();
  expect(await sentWhenResumed(world, 1, stream.lastId())).toEqual([idOf(click)]);
});

test('a client that does not read is disconnected, and gets the rest when it resumes', async () => {
  const world = await aWorld({ stalledMs: 200 });
  const { workspace } = world;
  const customer = await workspace.aCustomer({ externalId: 'ada' });
  const witness = await world.open('event=leads&country=BR');
  const from = witness.lastId();
  await openWithoutReading(world, 'event=leads');
  const open = `{waymark}:streams:${parseResourceId('workspace', workspace.id)}`;
  const leads = Array.from({ length: 600 }, () =>
    workspace.lead(world.aClick(), customer, 0, { timestampMs: Date.now(), metadata: { text: 'x'.repeat(20_000) } }),
  );
  for (let at = 0; at < leads.length; at += 50) await world.add('lead', ...leads.slice(at, at + 50));
  await waitFor(async () => (await world.query.redis.zcard(open)) === 1, { what: 'the end of the slow stream' });
  // If the process is too busy, this client also counts as one that does not read.
  const resumed = await sentWhenResumed(world, leads.length, from, 'event=leads');
  expect(resumed.sort()).toEqual(leads.map(idOf).sort());
});

test('a shutdown ends every stream with bye, and does not wait for clients that do not read', async () => {
  const world = await aWorld();
  const streams = [await world.open(), await world.open('event=sales')];
  await openWithoutReading(world, '');
  await world.query.app.close();
  for (const stream of streams) {
    await stream.untilEnded();
    expect(stream.frames.map(({ event, data }) => [event, data])).toEqual([['bye', '{"reason":"shutdown"}']]);
  }
});

test('streams end after their lifetime with a bye, and a client that resumes each time misses nothing', async () => {
  const world = await aWorld({ lifetimeMs: [50, 100] });
  const received: string[] = [];
  const clicks = [world.aClick(), world.aClick(), world.aClick()];
  let lastEventId: string | undefined;
  for (let turn = 0; turn < clicks.length || received.length < clicks.length; turn++) {
    const stream = await world.open('', { lastEventId });
    const click = clicks[turn];
    if (click !== undefined) await world.add('click', click);
    await stream.untilEnded();
    expect(stream.frames.at(-1)).toMatchObject({ event: 'bye', data: '{"reason":"lifetime"}' });
    received.push(...sent(stream));
    lastEventId = stream.lastId();
  }
  expect(received).toEqual(clicks.map(idOf));
});

test('equal subscriptions are read once, and nothing is read or sent to Redis while no stream is open', async () => {
  let reads = 0;
  const onQuery = ({ endpoint }: { readonly endpoint: string }) => {
    if (endpoint === 'GET /events/stream') reads += 1;
  };
  const world = await aWorld({}, { onQuery });
  const { redis } = world.query;
  await redis.config('RESETSTAT');
  const first = world.aClick();
  await world.add('click', first);
  await waitFor(async () => (await world.listed()).length === 1, { what: 'the click in the list' });
  expect(await redis.info('commandstats')).not.toMatch(/cmdstat_(?:xread|xrevrange)/);
  expect([reads, await redis.keys('*:tail*')]).toEqual([0, []]);

  const readsWith = async (streams: readonly Awaited<ReturnType<StreamWorld['open']>>[]) => {
    const before = reads;
    const click = world.aClick();
    await world.add('click', click);
    for (const stream of streams) await stream.until(({ data }) => data.includes(idOf(click)), 'the click');
    return reads - before;
  };
  const streams = [await world.open()];
  await readsWith(streams);
  const alone = await readsWith(streams);
  for (let more = 0; more < 9; more++) streams.push(await world.open());
  expect(await readsWith(streams)).toBe(alone);
  expect(alone).toBeGreaterThan(0);
});
