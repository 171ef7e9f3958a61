import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';

/** Customers that `/track` creates can be read at once, through every process. */

/** As many as there are pairs of a process that creates one and a filter that finds it. */
const CUSTOMERS = 6;
const TEST_MS_MAX = 180_000;
let two: TwoApis;

beforeAll(async () => {
  two = await startTwoApis();
}, 180_000);
afterAll(() => two.close());

describe.each([
  ['while the writer runs', 'SIGCONT'],
  ['while the writer is stopped', 'SIGSTOP'],
] as const)('%s', (when, signal) => {
  beforeAll(() => two.writer.kill(signal));
  afterAll(() => two.writer.kill('SIGCONT'));

  it.concurrent.each(['lead', 'sale'] as const)(
    'a customer of track.%s is in every read that follows',
    { timeout: TEST_MS_MAX },
    async (kind) => {
      const [first, second] = two.apis;
      for (let number = 0; number < CUSTOMERS; number++) {
        const externalId = `${when} ${kind} ${number}.`;
        const customer = {
          customerExternalId: externalId,
          customerName: 'Ada',
          customerEmail: `${kind}-${number}@acme.com`,
        };
        const [writer, reader] = number % 2 === 0 ? [first, second] : [second, first];
        const clickId = await two.aClick(writer);
        if (kind === 'lead') await writer.dub.track.lead({ clickId, eventName: 'Sign up', ...customer });
        else await writer.dub.track.sale({ clickId, amount: 100, paymentProcessor: 'stripe', ...customer });
        const lists = [{ externalId }, { email: customer.customerEmail }, { search: `${when} ${kind} ${number}.` }];
        const filter = lists[number % lists.length] ?? {};
        for (const { dub } of [reader, writer]) {
          const [found] = (await dub.customers.list(filter)).result;
          expect(found).toMatchObject({ externalId, name: 'Ada', email: customer.customerEmail });
          expect((await dub.customers.get({ id: found?.id ?? '' })).externalId).toBe(externalId);
          expect((await dub.customers.get({ id: `ext_${externalId}` })).id).toBe(found?.id);
        }
        expect((await reader.call('POST', '/customers', { externalId, country: 'FR' })).status).toBe(409);
      }
    },
  );

  it('such a customer can be changed and deleted at once', async () => {
    const [first, second] = two.apis;
    const customerExternalId = `changed ${when}`;
    await first.dub.track.lead({ clickId: await two.aClick(first), eventName: 'Sign up', customerExternalId });
    const id = `ext_${customerExternalId}`;
    const changed = await second.dub.customers.update({ id, requestBody: { name: 'Grace' } });
    expect(changed.name).toBe('Grace');
    expect((await first.dub.customers.get({ id: changed.id })).name).toBe('Grace');
    await first.dub.customers.delete(id);
    expect((await second.call('GET', `/customers/${changed.id}`)).status).toBe(404);
    expect((await second.dub.customers.list({ externalId: customerExternalId })).result).toEqual([]);
  });
});

it('changes and deletions before the customer was stored remain in effect afterwards', async () => {
  const { dub } = two.apis[1];
  for (const when of ['while the writer runs', 'while the writer is stopped']) {
    expect((await dub.customers.list({ externalId: `changed ${when}` })).result).toEqual([]);
  }
});
