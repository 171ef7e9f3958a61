import type { Role, Scope } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { aWorkspace } from '../test-query.js';
import { idOf, type StreamWorld, sent, startStreamWorld } from './stream-world.js';

let world: StreamWorld;
beforeAll(async () => {
  // Longer than a test may take: what ends streams here is the change, not the next check.
  world = await startStreamWorld({ recheckMs: 3_600_000 });
});
afterAll(() => world.close());

const aKey = (fields: { kind?: 'secret' | 'publishable'; role?: Role; scopes?: Scope[] } = {}) =>
  world.query.catalog.keys.create({
    ...{ workspaceId: world.workspace.id, name: 'Test', kind: 'secret', role: 'owner', scopes: [], ...fields },
  });

const errorOf = async (stream: Promise<{ readonly status: number; readonly text: string }>) => {
  const { status, text } = await stream;
  const { code, message } = JSON.parse(text).error as { code: string; message: string };
  return [status, code, message];
};

describe('who is refused', () => {
  test('an unknown key', async () => {
    expect((await errorOf(world.open('', { token: 'dub_none' })))[0]).toBe(401);
  });

  test('a publishable key', async () => {
    const { token } = await aKey({ kind: 'publishable' });
    expect((await errorOf(world.open('', { token })))[0]).toBe(401);
  });

  test('a key without the permission of GET /events', async () => {
    const { token } = await aKey({ scopes: ['links.read'] });
    expect((await errorOf(world.open('', { token })))[0]).toBe(403);
  });

  test('a workspace on a plan without GET /events', async () => {
    const { token } = await aWorkspace(world.query, 'pro');
    expect((await errorOf(world.open('', { token })))[0]).toBe(403);
  });

  test('HEAD, which would open a stream whose body is never sent', async () => {
    const { token } = world.workspace;
    const headers = { authorization: `Bearer ${token}` };
    const head = (more: object) => world.query.app.inject({ method: 'HEAD', url: '/events/stream', ...more });
    const refused = await head({ headers });
    expect([refused.statusCode, refused.headers.allow, refused.body]).toEqual([405, 'GET', '']);
    expect((await head({})).statusCode).toBe(401);
  });
});

test('another workspace is sent nothing, and cannot resume at a position of this one', async () => {
  const other = await aWorkspace(world.query);
  const [mine, theirs] = [await world.open(), await world.open('', { token: other.token })];
  const click = world.aClick();
  await world.add('click', click);
  await mine.until(() => true, 'the click');
  const resumed = await world.open('', { token: other.token, lastEventId: mine.lastId() });
  const foreign = other.click(await other.aLink({ key: 'theirs' }), 0, { timestampMs: Date.now() });
  await world.add('click', foreign);
  await theirs.until(() => true, 'its own click');
  await resumed.until(({ event }) => event === 'click', 'its own click');
  expect([sent(mine), sent(theirs), sent(resumed)]).toEqual([[idOf(click)], [idOf(foreign)], [idOf(foreign)]]);
});

test('a stream ends when its key is revoked, and the key opens no other', async () => {
  const { token, record } = await aKey();
  const stream = await world.open('', { token });
  await world.query.catalog.keys.revoke(world.workspace.id, record.id);
  const { data } = await stream.until(({ event }) => event === 'bye', 'the end');
  expect(JSON.parse(data)).toEqual({ reason: 'key' });
  await stream.untilEnded();
  await world.add('click', world.aClick());
  expect((await errorOf(world.open('', { token })))[0]).toBe(401);
  expect(sent(stream)).toEqual([]);
});

test('a stream ends when its key is revoked while it is being opened', async () => {
  const { token, record } = await aKey();
  const { catalog } = world.query;
  const check = vi.spyOn(catalog.eventUsage, 'check').mockImplementationOnce(async () => {
    await catalog.keys.revoke(world.workspace.id, record.id);
  });
  onTestFinished(() => check.mockRestore());
  const stream = await world.open('', { token });
  await stream.until(({ event, data }) => event === 'bye' && data === '{"reason":"key"}', 'the end');
});

test('a stream ends when its key expires', async () => {
  let passedMs = 0;
  const checking = await startStreamWorld({ recheckMs: 20 }, {}, () => Date.now() + passedMs);
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const { token } = await checking.query.catalog.keys.create({
    ...{ workspaceId: checking.workspace.id, name: 'Test', kind: 'secret', role: 'owner', scopes: [], expiresAt },
  });
  const stream = await checking.open('', { token });
  passedMs = 3_600_000;
  await stream.until(({ event, data }) => event === 'bye' && data === '{"reason":"key"}', 'the end');
  await checking.close();
});

test('a stream ends when its workspace moves to a plan without streams', async () => {
  const other = await aWorkspace(world.query);
  const stream = await world.open('', { token: other.token });
  await world.query.catalog.workspaces.update(other.id, { plan: 'pro' });
  await stream.until(({ event, data }) => event === 'bye' && data === '{"reason":"key"}', 'the end');
});

/** Parameters of `GET /events` that mean nothing for a stream. */
const OF_LISTS = ['interval', 'start', 'end', 'timezone', 'page', 'limit', 'cursor', 'sortBy', 'sortOrder', 'order'];

const REFUSED: readonly (readonly [string, number, string])[] = [
  ['event=click', 422, 'event'],
  ['event=composite', 422, 'event'],
  ['colour=red', 422, 'colour'],
  ['continent=XX', 422, 'continent'],
  ["query=metadata['a'", 422, 'query'],
  ['key=shop', 400, 'key'],
  ['externalId=shop', 400, 'externalId'],
  ...OF_LISTS.map((name) => [`${name}=1`, 422, name] as const),
];

test.each(REFUSED)('%s is refused with %i, naming the parameter', async (text, status, name) => {
  const [answered, , message] = await errorOf(world.open(text));
  expect([answered, message]).toEqual([status, expect.stringMatching(new RegExp(`: ${name}: `))]);
});

test('a link that does not exist is refused with 404, as in GET /events', async () => {
  const [status, , message] = await errorOf(world.open('externalId=ext_none'));
  expect([status, message]).toEqual([404, 'Link not found.']);
});

test('a key has at most twenty streams, a workspace a hundred; one more answers 429 with Retry-After', async () => {
  const other = await aWorkspace(world.query);
  const keys = await Promise.all(
    Array.from({ length: 6 }, () =>
      world.query.catalog.keys.create({
        ...{ workspaceId: other.id, name: 'Many', kind: 'secret', role: 'owner', scopes: [] },
      }),
    ),
  );
  const streamsOf = (token: string) => Promise.all(Array.from({ length: 20 }, () => world.open('', { token })));
  const [first, ...rest] = keys.map(({ token }) => token);
  const streams = await streamsOf(first!);
  const refused = await world.open('', { token: first! });
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 15]);
  expect(refused.text).toContain('An API key may have 20 streams open at a time.');
  for (const token of rest.slice(0, 4)) await streamsOf(token);
  const beyond = await world.open('', { token: rest[4]! });
  expect([beyond.status, beyond.headers.get('retry-after')]).toEqual([429, '15']);
  expect(beyond.text).toContain('A workspace may have 100 streams open at a time.');
  await streams[0]!.close();
  const again = async () => (await world.open('', { token: first! })).status;
  await expect.poll(again, { timeout: 10_000 }).toBe(200);
});
