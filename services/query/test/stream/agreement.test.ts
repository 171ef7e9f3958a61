import type { EventRow } from '@waymark/event-format';
import { type EventStreamClient, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { idOf, type StreamWorld, sent, startStreamWorld } from './stream-world.js';

// With every filter, and for every key, the stream and `GET /events` have the same events.

let world: StreamWorld;
beforeAll(async () => {
  world = await startStreamWorld({ heartbeatMs: 20 });
});
afterAll(() => world.close());

const KINDS = ['clicks', 'leads', 'sales'] as const;

async function aKey(role: 'owner' | 'member' = 'owner'): Promise<string> {
  const { id: workspaceId } = world.workspace;
  const { token } = await world.query.catalog.keys.create({
    ...{ workspaceId, name: 'Test', kind: 'secret', role, scopes: [] },
  });
  return token;
}

/** Waits until a stream has sent an event. */
const has = (stream: EventStreamClient, row: EventRow) =>
  waitFor(() => sent(stream).includes(idOf(row)), { what: 'the last event' });

const numberOf = (stream: EventStreamClient) => Number(stream.lastId().split('-')[1]);

/** Waits until streams are that many events of the workspace further than now, by the positions in their heartbeats. */
function afterEvents(streams: readonly EventStreamClient[], count: number): () => Promise<void> {
  const from = Math.max(...streams.map(numberOf));
  return async () => {
    await waitFor(() => streams.every((stream) => numberOf(stream) >= from + count), { what: 'all streams' });
  };
}

test('streams with filters send what GET /events lists with the same filters', async () => {
  const { workspace, query } = world;
  const { catalog } = query;
  const tag = await catalog.tags.create(workspace.id, { name: 'news' });
  const folder = await catalog.folders.create(workspace.id, { name: 'Spring' });
  const last = await workspace.aLink({
    key: 'last',
    tenantId: 'one',
    tagIds: [tag.id],
    folderId: folder.id,
    externalId: 'last',
  });
  const other = await workspace.aLink({ key: 'other', tenantId: 'two' });
  const customer = await workspace.aCustomer({ externalId: 'ada' });
  const matching = {
    country: 'US',
    region: 'CA',
    continent: 'NA',
    device: 'Mobile',
    trigger: 'qr' as const,
    url: 'https://acme.com/?utm_source=news',
  };
  const filters = [
    'country=US',
    'country=-FR',
    'region=US-CA',
    'device=mobile',
    'trigger=qr',
    'utm_source=news',
    `linkId=${last.id}`,
    'linkId=ext_last',
    `domain=${workspace.host}&key=last`,
    'externalId=ext_last',
    'tenantId=one',
    'tenantId=-two',
    `tagId=${tag.id}`,
    `tagId=nope,${tag.id}&linkId=-nope`,
    `folderId=${folder.id}`,
    'root=false&continent=NA',
    "eventName=Sign up&query=metadata['seats'] > 5",
    'saleType=recurring',
  ];
  const tokens = await Promise.all([aKey(), aKey()]);
  const streams = await Promise.all(
    filters.map((filter, index) => world.open(`event=all&${filter}`, { token: tokens[index % 2]! })),
  );
  const untilSent = afterEvents(streams, 9);
  const click = world.aClick(last, matching);
  const clicks = [click, world.aClick(other), world.aClick(other, matching), world.aClick(last)];
  const now = { timestampMs: Date.now() };
  await world.add('click', ...clicks);
  await world.add(
    'lead',
    workspace.lead(click, customer, 0, { ...now, eventName: 'Sign up', metadata: { seats: 6 } }),
    workspace.lead(clicks[1]!, customer, 0, { ...now, eventName: 'Demo', metadata: { seats: 5 } }),
  );
  await world.add(
    'sale',
    workspace.sale(click, customer, 0, { ...now, saleType: 'recurring', metadata: { seats: 6 } }),
    workspace.sale(clicks[3]!, customer, 0, { ...now, saleType: 'new' }),
  );
  await world.add('click', world.aClick(last, matching));
  await untilSent();

  for (const [index, filter] of filters.entries()) {
    const listed = (await Promise.all(KINDS.map((kind) => world.listed(`event=${kind}&${filter}`)))).flat();
    expect(sent(streams[index]!).sort(), filter).toEqual(listed.sort());
    expect(listed.length, filter).toBeGreaterThan(1);
  }
  await world.closeStreams();
});

test('events of a link that was removed are neither sent nor listed', async () => {
  const removed = await world.workspace.aLink({ key: 'removed' });
  const stream = await world.open();
  const before = world.aClick(removed);
  await world.add('click', before);
  await has(stream, before);
  await world.workspace.remove(removed);
  const untilSent = afterEvents([stream], 2);
  await world.add('click', world.aClick(removed), world.aClick());
  await untilSent();
  const listed = await world.listed();
  expect(sent(stream).filter((id) => !listed.includes(id))).toEqual([idOf(before)]);
  expect(sent(stream)).toHaveLength(2);
});

test('a member is sent no event of a folder that it must not see, from the moment the folder is hidden', async () => {
  const { workspace, query } = world;
  const token = await aKey('member');
  const folder = await query.catalog.folders.create(workspace.id, { name: 'Soon secret' });
  const secret = await workspace.aLink({ key: 'secret', folderId: folder.id });
  const [member, owner] = [await world.open('', { token }), await world.open()];
  const open = world.aClick(secret);
  await world.add('click', open);
  await has(member, open);
  await query.catalog.folders.update(workspace.id, folder.id, async () => ({ accessLevel: null }));
  const hidden = world.aClick(secret);
  const last = world.aClick();
  const untilSent = afterEvents([member, owner], 2);
  await world.add('click', hidden, last);
  await untilSent();
  expect(sent(owner)).toEqual([idOf(open), idOf(hidden), idOf(last)]);
  expect(sent(member)).toEqual([idOf(open), idOf(last)]);
  expect(await world.listed('', token)).not.toContain(idOf(hidden));
});

test('a customer that is created after the stream was opened is found by its external id', async () => {
  const { workspace } = world;
  const stream = await world.open('event=leads&customerId=ext_later');
  const customer = await workspace.aCustomer({ externalId: 'later' });
  const lead = workspace.lead(world.aClick(), customer, 0, { timestampMs: Date.now() });
  await world.add('lead', lead);
  await has(stream, lead);
  expect(await world.listed('event=leads&customerId=ext_later')).toEqual([idOf(lead)]);
});

test('a stream of a folder ends when the folder is removed, as GET /events refuses it then', async () => {
  const { workspace, query } = world;
  const folder = await query.catalog.folders.create(workspace.id, { name: 'Short-lived' });
  const stream = await world.open(`folderId=${folder.id}`);
  await query.catalog.folders.remove(workspace.id, folder.id);
  await world.add('click', world.aClick());
  const { data } = await stream.until(({ event }) => event === 'bye', 'the end');
  expect(JSON.parse(data)).toEqual({ reason: 'filter' });
  expect((await world.open(`folderId=${folder.id}`)).status).toBe(404);
});

test('an event that arrives days late is sent like the others', async () => {
  const stream = await world.open();
  const days = [0, 1, 3, 9, 20].map((age) => world.aClick(world.link, { timestampMs: Date.now() - age * 86_400_000 }));
  await world.add('click', ...days);
  await has(stream, days.at(-1)!);
  expect(sent(stream)).toEqual(days.map(idOf));
});
