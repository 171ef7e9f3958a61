import { createEventId, formatResourceId } from '@waymark/contract';
import { aClick, aSale, insertClicks, insertSales, startTestReplicas, type TestReplicas } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { readStoredEvents } from '../../src/events/stored-events.js';

let replicas: TestReplicas;
const NUMBER = '840';
const WORKSPACE = formatResourceId('workspace', NUMBER);
/** The state of a replica that has not fetched an insert. */
const BEHIND = { inserts: 1 };

beforeAll(async () => {
  replicas = await startTestReplicas();
});
afterAll(() => replicas.stop());
beforeEach(() => replicas.setStates('click_events', {}, {}));

const aStored = () => aClick({ workspaceId: NUMBER, timestampMs: Date.now(), ip: '192.0.2.7' });
const idOf = (row: readonly unknown[]) => String(row[2]);
const read = (kind: 'click' | 'sale', ids: readonly string[]) =>
  readStoredEvents({ clickhouse: replicas.first, cluster: replicas.cluster }, kind, WORKSPACE, ids);

it('events that the replica which is read lacks are read from another one', async () => {
  const [here, there] = [aStored(), aStored()];
  await insertClicks(replicas.first, [here]);
  await insertClicks(replicas.second, [there]);
  await replicas.setStates('click_events', BEHIND, BEHIND);
  const { events, ...others } = await read('click', [there, here].map(idOf));
  expect(events.map(({ id }) => id)).toEqual([there, here].map(idOf));
  const [fromSecond, fromFirst] = events;
  expect(fromSecond).toEqual({ ...fromFirst, id: idOf(there), timestampMs: there[1], payload: expect.anything() });
  expect(fromSecond?.payload.click).toMatchObject({ id: idOf(there), country: 'FR' });
  expect(others).toEqual({ absent: [], unknown: [] });
});

it('conversions that are read from another replica have their name and customer', async () => {
  const sale = aSale({ click: aStored(), timestampMs: Date.now(), customerId: '18446744073709551615' });
  await insertSales(replicas.second, [sale]);
  const { events } = await read('sale', [idOf(sale)]);
  expect(events).toMatchObject([
    { id: idOf(sale), eventName: 'Purchase', customerId: formatResourceId('customer', '18446744073709551615') },
  ]);
});

it('an event that no replica has is absent if one of them is complete, and unknown while none is', async () => {
  const here = aStored();
  await insertClicks(replicas.first, [here]);
  const missing = createEventId(Date.now());
  const ids = [missing, 'no event id', idOf(here)];
  await replicas.setStates('click_events', BEHIND, BEHIND);
  expect(await read('click', ids)).toMatchObject({
    ...{ events: [{ id: idOf(here) }], absent: ['no event id'], unknown: [missing] },
  });
  await replicas.setStates('click_events', BEHIND, {});
  expect(await read('click', ids)).toMatchObject({
    ...{ events: [{ id: idOf(here) }], absent: [missing, 'no event id'], unknown: [] },
  });
});
