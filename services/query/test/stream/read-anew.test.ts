import type { EventRow } from '@waymark/event-format';
import { type EventStreamClient, waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { idOf, type StreamWorld, sent, startStreamWorld } from './stream-world.js';

// A stream that resumes beside an open one with an equal subscription sends what `GET /events` lists by then, not what the open one has sent.

let world: StreamWorld;
beforeAll(async () => {
  world = await startStreamWorld({ heartbeatMs: 20 });
});
afterAll(() => world.close());
afterEach(() => world.closeStreams());

async function aMember(): Promise<string> {
  const { id: workspaceId } = world.workspace;
  const { token } = await world.query.catalog.keys.create({
    ...{ workspaceId, name: 'Test', kind: 'secret', role: 'member', scopes: [] },
  });
  return token;
}

/** Waits until a stream has sent an event. */
const has = (stream: EventStreamClient, row: EventRow) =>
  waitFor(() => sent(stream).includes(idOf(row)), { what: 'the event' });

test('a member who resumes is sent no event of a folder that was hidden meanwhile, although another stream has sent it', async () => {
  const { workspace, query } = world;
  const folder = await query.catalog.folders.create(workspace.id, { name: 'Soon secret' });
  const secret = await workspace.aLink({ key: 'secret', folderId: folder.id });
  const open = await world.open('', { token: await aMember() });
  const before = open.lastId();
  const hidden = world.aClick(secret);
  await world.add('click', hidden);
  await has(open, hidden);
  await query.catalog.folders.update(workspace.id, folder.id, async () => ({ accessLevel: null }));

  const resumed = await world.open('', { token: await aMember(), lastEventId: before });
  const last = world.aClick();
  await world.add('click', last);
  await Promise.all([open, resumed].map((stream) => has(stream, last)));
  expect([sent(open), sent(resumed)]).toEqual([[idOf(hidden), idOf(last)], [idOf(last)]]);
});

test('a client that resumes is sent no event of a link that was removed meanwhile', async () => {
  const removed = await world.workspace.aLink({ key: 'removed' });
  const open = await world.open();
  const before = open.lastId();
  const click = world.aClick(removed);
  await world.add('click', click);
  await has(open, click);
  await world.workspace.remove(removed);

  const resumed = await world.open('', { lastEventId: before });
  const last = world.aClick();
  await world.add('click', last);
  await has(resumed, last);
  expect(sent(resumed)).toEqual([idOf(last)]);
});

test('a client that resumes is sent no text of a customer who was erased meanwhile', async () => {
  const { workspace, query } = world;
  const customer = await workspace.aCustomer({ externalId: 'user_42', name: 'Lovelace' });
  const open = await world.open('event=leads');
  const before = open.lastId();
  const lead = workspace.lead(world.aClick(), customer, 0, { timestampMs: Date.now(), metadata: { note: 'Lovelace' } });
  await world.add('lead', lead);
  await has(open, lead);
  await query.catalog.erasures.accept(workspace.id, { externalId: 'user_42', customerIds: [customer.id] }, 'anonymise');
  await query.catalog.customers.remove(workspace.id, customer.id);

  const resumed = await world.open('event=leads', { lastEventId: before });
  await has(resumed, lead);
  const texts = [open, resumed].map(({ frames }) => frames.find(({ event }) => event === 'lead')?.data);
  expect(texts[0]).toContain('Lovelace');
  expect(texts[1]).not.toMatch(/Lovelace|user_42/);
});
