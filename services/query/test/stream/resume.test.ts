import { parseResourceId } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { idOf, type StreamWorld, sent, startStreamWorld } from './stream-world.js';

let world: StreamWorld;
let tail: string;
/** The position before the first event of a test. */
let before: string;

beforeAll(async () => {
  world = await startStreamWorld({ heartbeatMs: 20 });
  tail = `{waymark}:tail:${parseResourceId('workspace', world.workspace.id)}`;
});
afterAll(() => world.close());
beforeEach(async () => {
  const stream = await world.open();
  before = stream.lastId();
  // Entries that the service has in memory for other streams would be sent, although Redis has dropped them.
  await world.closeStreams();
});

/** Adds clicks in batches of their own, and waits until they are listed. */
async function store(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const click = world.aClick();
    ids.push(idOf(click));
    await world.add('click', click);
    await waitFor(async () => (await world.listed()).includes(idOf(click)), { what: 'the click in the list' });
  }
  return ids;
}

test('a client that connects again gets what was stored meanwhile, and nothing twice', async () => {
  const ids = await store(3);
  const first = await world.open('', { lastEventId: before });
  const frame = await first.until(() => first.frames.length === 3, 'three clicks');
  expect(frame.event).toBe('click');
  await first.close();
  ids.push(...(await store(2)));
  const second = await world.open('', { lastEventId: first.lastId() });
  ids.push(...(await store(1)));
  await second.until(() => second.frames.length === 3, 'three more clicks');
  expect([...sent(first), ...sent(second)]).toEqual(ids);
});

test('a client may resume in the middle of a batch', async () => {
  const clicks = [world.aClick(), world.aClick(), world.aClick()];
  await world.add('click', ...clicks);
  const first = await world.open('', { lastEventId: before });
  await first.until(() => first.frames.length === 3, 'three clicks');
  const second = await world.open('', { lastEventId: first.frames[0]!.id });
  await second.until(() => second.frames.length === 2, 'two clicks');
  expect(second.frames.map(({ id, data }) => [id, data])).toEqual(
    first.frames.slice(1).map(({ id, data }) => [id, data]),
  );
});

test('heartbeats carry the position, so a client resumes there even if nothing matched its filters', async () => {
  const stream = await world.open('country=BR');
  const [click] = await store(1);
  await waitFor(() => stream.lastId() !== before, { what: 'a later position' });
  expect(stream.frames).toEqual([]);
  await stream.close();
  const resumed = await world.open('', { lastEventId: stream.lastId() });
  const [next] = await store(1);
  await resumed.until(() => true, 'a click');
  expect([sent(resumed), click === next]).toEqual([[next], false]);
});

test('a client that is beyond the buffer gets a gap with its range first, and then everything that is left', async () => {
  const ids = await store(4);
  const [, number = ''] = before.split('-');
  const { redis } = world.query;
  await waitFor(
    async () => (await redis.xrevrange(tail, '+', '-', 'COUNT', 1))[0]?.[0].endsWith(`-${Number(number) + 4}`),
    { what: 'the acknowledgement of the last one' },
  );
  await redis.xtrim(tail, 'MAXLEN', 1);
  const stream = await world.open('', { lastEventId: before });
  await stream.until(({ event }) => event === 'click', 'the last click');
  const [epoch] = before.split('-');
  const to = `${epoch}-${Number(number) + 3}`;
  expect(stream.frames[0]).toMatchObject({ event: 'gap', id: to });
  expect(JSON.parse(stream.frames[0]!.data)).toEqual({ from: before, to, events: 3 });
  expect(sent(stream)).toEqual(ids.slice(3));
});

test('a client whose tail has expired gets a gap of unknown size, and its next events', async () => {
  await store(1);
  await world.query.redis.del(tail, '{waymark}:tails');
  await store(1);
  const stream = await world.open('', { lastEventId: before });
  await stream.until(({ event }) => event === 'gap', 'the gap');
  expect(JSON.parse(stream.frames[0]!.data)).toEqual({ from: before, to: stream.lastId(), events: null });
  const [id = ''] = await store(1);
  // The click before may have come into the tail after the gap: it is listed a moment earlier.
  await stream.until(() => sent(stream).includes(id), 'the click');
  expect(sent(stream).at(-1)).toBe(id);
});

test('a position that the tail has not reached is a gap: Redis has lost writes', async () => {
  const [epoch, number] = before.split('-');
  const ahead = `${epoch}-${Number(number) + 1000}`;
  const stream = await world.open('', { lastEventId: ahead });
  await stream.until(({ event }) => event === 'gap', 'the gap');
  expect(JSON.parse(stream.frames[0]!.data)).toEqual({ from: ahead, to: before, events: null });
});

test('streams end when Redis has lost the tail that they follow, and a client that resumes gets a gap', async () => {
  const stream = await world.open();
  await world.query.redis.del(tail, '{waymark}:tails');
  const other = await world.open();
  await stream.until(({ event }) => event === 'bye', 'the end');
  await stream.untilEnded();
  const [id] = await store(1);
  await other.until(({ event }) => event === 'click', 'the click');
  const resumed = await world.open('', { lastEventId: stream.lastId() });
  await resumed.until(({ event }) => event === 'click', 'the click');
  expect(resumed.frames.map(({ event }) => event)).toEqual(['gap', 'click']);
  expect(sent(resumed)).toEqual([id]);
});

test.each(['x', '12', '1-2-3', '-1', '1-', `${'9'.repeat(40)}-1`])(
  'Last-Event-ID %s is refused by name',
  async (id) => {
    const { status, text } = await world.open('', { lastEventId: id });
    expect([status, JSON.parse(text).error.message]).toEqual([
      422,
      'invalid_format: Last-Event-ID: must be the id of a frame of this stream',
    ]);
  },
);
