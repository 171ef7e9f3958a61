import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';

/** A customer who is made by `POST /customers` gets the click of its first lead, whichever process takes it, and every process shows it. */

const CUSTOMERS = 8;
const LEADS = 6;
let two: TwoApis;

beforeAll(async () => {
  two = await startTwoApis();
}, 180_000);
afterAll(() => two.close());

interface Expanded {
  readonly id: string;
  readonly link: { readonly id: string } | null;
}

async function customersOf(externalId: string): Promise<Expanded[]> {
  const path = `/customers?externalId=${externalId}&includeExpandedFields=true`;
  const answers = await Promise.all(two.apis.map((api) => api.call<Expanded[]>('GET', path)));
  return answers.flatMap(({ body }) => body);
}

/** The leads of a customer, once there are as many as expected. */
function leadsOf(customerId: string, count: number) {
  const read = async () => {
    const path = `/events?event=leads&interval=24h&customerId=${customerId}`;
    const { body } = await two.apis[0].call<{ eventName: string }[]>('GET', path);
    return body.length === count ? body.map(({ eventName }) => eventName).sort() : undefined;
  };
  return waitFor(read, { what: `${count} leads of ${customerId}` });
}

it('concurrent leads at two processes give each customer one click, and both show it', {
  timeout: 180_000,
}, async () => {
  for (let number = 0; number < CUSTOMERS; number++) {
    const [maker, other] = number % 2 === 0 ? two.apis : [two.apis[1], two.apis[0]];
    const externalId = `crm-${number}`;
    expect((await maker.call('POST', '/customers', { externalId, country: 'FR' })).status).toBe(201);
    const clicks = await Promise.all(
      Array.from({ length: LEADS }, (_none, at) => two.aClick(two.apis[at % 2] ?? maker)),
    );
    const bodies = clicks.map((clickId, at) => ({ clickId, eventName: `Lead ${at}`, customerExternalId: externalId }));
    // Each is sent twice, as a client does whose first attempt had no answer.
    const sent = [...bodies, ...bodies].map((body, at) =>
      (at % 3 === 0 ? maker : other).call('POST', '/track/lead', body),
    );
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 200));

    const shown = await customersOf(externalId);
    expect(shown).toHaveLength(2);
    expect(shown[0]?.link).not.toBeNull();
    expect(shown[1]).toEqual(shown[0]);
    const later = { eventName: 'Later', customerExternalId: externalId };
    const answers = await Promise.all(
      two.apis.map((api) => api.call<{ click: { id: string } }>('POST', '/track/lead', later)),
    );
    const [first, second] = answers.map(({ body }) => body.click.id);
    expect(clicks).toContain(first);
    expect(second).toBe(first);
    expect(await leadsOf(shown[0]?.id ?? '', LEADS + 1)).toEqual([
      'Later',
      ...bodies.map(({ eventName }) => eventName),
    ]);
  }
});

it('a process that is killed amid leads loses and doubles none of them', { timeout: 180_000 }, async () => {
  const [killed, left] = two.apis;
  const externalIds = Array.from({ length: CUSTOMERS }, (_none, number) => `killed-${number}`);
  for (const externalId of externalIds) await left.call('POST', '/customers', { externalId, country: 'FR' });
  const clicks = await Promise.all(externalIds.map(() => two.aClick(left)));
  const bodies = externalIds.map((customerExternalId, number) => ({
    ...{ clickId: clicks[number], eventName: 'Sign up', customerExternalId },
    mode: number % 2 === 0 ? 'deferred' : 'async',
  }));
  const sent = bodies.map(async (body, number) => {
    const answer = await killed.call('POST', '/track/lead', body).catch(() => undefined);
    if (number === 0) killed.child.kill('SIGKILL');
    return answer?.status;
  });
  const outcomes = await Promise.all(sent);
  expect(outcomes[0]).toBe(200);
  for (const body of bodies) {
    // The claims and locks of the process that was killed expire.
    const repeat = () => left.call('POST', '/track/lead', body);
    await waitFor(async () => (await repeat()).status === 200, { timeoutMs: 90_000, what: 'the repeat of a lead' });
    const { customerExternalId, eventName } = body;
    expect((await left.call('POST', '/track/lead', { eventName, customerExternalId })).status).toBe(200);
  }
  for (const externalId of externalIds) {
    const path = `/customers?externalId=${externalId}&includeExpandedFields=true`;
    const [customer] = (await left.call<Expanded[]>('GET', path)).body;
    expect(customer?.link).not.toBeNull();
    const read = async () => {
      const events = `/events?event=leads&interval=24h&customerId=${customer?.id}`;
      const { body } = await left.call<{ click: { id: string } }[]>('GET', events);
      return body.length > 0 ? body.map(({ click }) => click.id) : undefined;
    };
    expect(await waitFor(read, { what: 'the lead' })).toEqual([clicks[externalIds.indexOf(externalId)]]);
  }
});
