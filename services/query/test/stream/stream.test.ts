import { afterAll, beforeAll, expect, test } from 'vitest';
import { idOf, type StreamWorld, sent, startStreamWorld } from './stream-world.js';

let world: StreamWorld;
beforeAll(async () => {
  world = await startStreamWorld();
});
afterAll(() => world.close());

test('an event is sent once it is stored, with the JSON of GET /events byte for byte', async () => {
  const { workspace, link, query } = world;
  const stream = await world.open('event=all');
  expect(stream.status).toBe(200);
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(stream.headers.get('cache-control')).toBe('no-cache, no-transform');
  expect(stream.headers.get('x-accel-buffering')).toBe('no');
  expect(stream.comments).toEqual(['open']);

  const click = world.aClick(link, { city: 'Montréal' });
  const customer = await workspace.aCustomer({ externalId: 'eve' });
  const now = { timestampMs: Date.now() };
  const lead = workspace.lead(click, customer, 0, now);
  const sale = workspace.sale(click, customer, 0, { ...now, metadata: { note: 'two\nlines' } });
  for (const [kind, row] of [
    ['click', click],
    ['lead', lead],
    ['sale', sale],
  ] as const) {
    await world.add(kind, row);
    const frame = await stream.until(({ event }) => event === kind, `the ${kind}`);
    const { body } = await query.app.inject({
      url: `/events?event=${kind}s`,
      headers: { authorization: `Bearer ${workspace.token}` },
    });
    expect(`[${frame.data}]`).toBe(body);
  }
  expect(stream.frames).toHaveLength(3);
  const numbers = stream.frames.map(({ id }) => Number(id.split('-')[1]));
  expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
});

test('a stream sends only the kind that it names, clicks by default', async () => {
  const [clicks, leads] = [await world.open(), await world.open('event=leads')];
  const click = world.aClick();
  const customer = await world.workspace.aCustomer({ externalId: 'fay' });
  const lead = world.workspace.lead(click, customer, 0, { timestampMs: Date.now() });
  await world.add('click', click);
  await world.add('lead', lead);
  await leads.until(() => true, 'the lead');
  await clicks.until(() => true, 'the click');
  expect([sent(clicks), sent(leads)]).toEqual([[idOf(click)], [idOf(lead)]]);
});

test('a stream sends at its start when to connect again, because a process that is killed sends no bye', async () => {
  const { url, workspace } = world;
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${workspace.token}` };
  const { body } = await fetch(`${url}/events/stream`, { headers, signal: leaving.signal });
  const first = await body?.getReader().read();
  leaving.abort();
  const [, retryMs] = /^: open\nretry: (\d+)\nid: \d+-\d+\n\n/.exec(new TextDecoder().decode(first?.value)) ?? [];
  expect(Number(retryMs)).toBeGreaterThanOrEqual(500);
  expect(Number(retryMs)).toBeLessThanOrEqual(2500);
});
