import { waitFor } from '@waymark/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';

// A lead of a customer and a name counts once, and a sale of an invoice counts once, also when customers are renamed or deleted while
// their events are in the queue.

let two: TwoApis;
beforeAll(async () => {
  two = await startTwoApis();
}, 180_000);
afterAll(() => two.close());
beforeEach(() => void two.writer.kill('SIGSTOP'));
afterEach(() => void two.writer.kill('SIGCONT'));

interface Customer {
  readonly id: string;
  readonly externalId: string;
}

async function lead(api: 0 | 1, customerExternalId: string, eventName = 'Sign up', customerName = 'Ada') {
  const clickId = await two.aClick(two.apis[api]);
  return two.apis[api].dub.track.lead({ clickId, eventName, customerExternalId, customerName });
}

const rename = (api: 0 | 1, from: string, externalId: string) =>
  two.apis[api].call('PATCH', `/customers/ext_${from}`, { externalId });

/** Once the writer has stored everything that was queued: the events of a customer. */
async function stored(event: 'leads' | 'sales', customerId: string): Promise<readonly string[]> {
  two.writer.kill('SIGCONT');
  const { dub } = two.apis[0];
  const clickId = await two.aClick(two.apis[0]);
  const last = `last ${customerId} ${event}`;
  await dub.track.lead({ clickId, eventName: 'Last', customerExternalId: last });
  await dub.track.sale({ amount: 1, paymentProcessor: 'stripe', customerExternalId: last });
  const list = async (kind: 'leads' | 'sales', filter: object) =>
    ((await dub.events.list({ event: kind, interval: 'all', ...filter })) as readonly { eventName: string }[]).map(
      ({ eventName }) => eventName,
    );
  // Jobs of a kind are stored in their order.
  await waitFor(
    async () => {
      const { result } = await dub.customers.list({ externalId: last });
      const customer = result[0]?.id ?? '';
      return (await list(event, { customerId: customer })).length > 0;
    },
    { what: 'the queue to be stored' },
  );
  return (await list(event, { customerId })).toSorted();
}

async function customersNamed(externalId: string): Promise<readonly Customer[]> {
  return (await two.apis[1].dub.customers.list({ externalId })).result;
}

it('a lead that a direct sale has recorded is not recorded again', async () => {
  const [first, second] = two.apis;
  const sale = { clickId: await two.aClick(first), amount: 100, paymentProcessor: 'stripe' as const };
  await first.dub.track.sale({ ...sale, customerExternalId: 'direct', leadEventName: 'Sign up' });
  expect((await lead(1, 'direct')).link).toBeNull();
  await second.dub.track.sale({ ...sale, customerExternalId: 'direct', leadEventName: 'Sign up' });
  const both = await Promise.all([
    second.dub.track.sale({ ...sale, customerExternalId: 'at once', leadEventName: 'Sign up' }),
    lead(0, 'at once'),
  ]);
  expect(both[0].customer?.externalId).toBe('at once');
  for (const name of ['direct', 'at once']) {
    const [customer, ...others] = await customersNamed(name);
    expect(others).toEqual([]);
    expect(await stored('leads', customer?.id ?? '')).toEqual(['Sign up']);
  }
});

it('a repeat under the new name of a customer is not recorded', async () => {
  await lead(0, 'before');
  expect((await rename(1, 'before', 'after')).status).toBe(200);
  const repeat = await lead(0, 'after');
  expect([repeat.link, repeat.customer.externalId]).toEqual([null, 'after']);
  const [customer] = await customersNamed('after');
  expect(await stored('leads', customer?.id ?? '')).toEqual(['Sign up']);
});

it('a sale right after a rename is attributed to the lead before it', async () => {
  await lead(0, 'buyer');
  expect((await rename(1, 'buyer', 'renamed')).status).toBe(200);
  const sale = { amount: 100, paymentProcessor: 'stripe' as const, customerExternalId: 'renamed' };
  const { customer } = await two.apis[0].dub.track.sale({ ...sale, leadEventName: 'Sign up' });
  await two.apis[1].dub.track.sale(sale);
  expect(await stored('sales', customer?.id ?? '')).toHaveLength(2);
});

it('a person who gets the freed name of another is a new customer, whose lead is recorded', async () => {
  await lead(0, 'freed', 'Sign up', 'Erika');
  expect((await rename(1, 'freed', 'moved')).status).toBe(200);
  const other = await lead(0, 'freed', 'Sign up', 'Grace');
  expect([other.link === null, other.customer.name]).toEqual([false, 'Grace']);
  const [[freed], [moved]] = await Promise.all([customersNamed('freed'), customersNamed('moved')]);
  expect(freed?.id).not.toBe(moved?.id);
  for (const customer of [freed, moved]) expect(await stored('leads', customer?.id ?? '')).toEqual(['Sign up']);
});

it('a rename that is refused leaves the customer as it was', async () => {
  await two.apis[0].call('POST', '/customers', { externalId: 'taken', country: 'FR' });
  await lead(0, 'keeps');
  expect((await rename(0, 'keeps', 'taken')).status).toBe(409);
  await lead(1, 'keeps', 'Trial');
  const found = await customersNamed('keeps');
  expect(found).toHaveLength(1);
  expect(await stored('leads', found[0]?.id ?? '')).toEqual(['Sign up', 'Trial']);
});

it('the invoice of a deleted customer is not recorded again, and shows nobody', async () => {
  const { dub } = two.apis[0];
  await lead(0, 'left');
  const sale = { customerExternalId: 'left', invoiceId: 'in_left', amount: 100, paymentProcessor: 'stripe' as const };
  const { customer } = await dub.track.sale(sale);
  await dub.customers.delete(customer?.id ?? '');
  await lead(1, 'left', 'Sign up', 'Grace');
  const repeat = await two.apis[1].dub.track.sale(sale);
  expect([repeat.customer?.id, repeat.customer?.name]).toEqual([customer?.id, 'Deleted Customer']);
  const [next] = await customersNamed('left');
  expect(await stored('sales', next?.id ?? '')).toEqual([]);
});
