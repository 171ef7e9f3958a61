import type { LinkRecord } from '@waymark/catalog';
import { Dub } from 'dub';
import { HTTPClient } from 'dub/lib/http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { convertToUsd } from '../../src/track/conversions/currencies.js';
import { type Answer, DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

/** Private text, stored in every field of the workspace that callers must never read. */
const PRIVATE = 'planted-private';
const AMOUNT = 987_654;
const INVOICE = 'inv-known';
const LEAD_NAME = 'Sign up';
/** A dinar is more than a dollar, so the largest amount of it is too large in cents of USD. */
const RATES = new Map([['kwd', 0.3]]);
const TOO_MANY_DINARS = { amount: Number.MAX_SAFE_INTEGER, currency: 'kwd' };
/** Rows of 29 kB. A hundred of them fit into a request, but not with the row of a new customer with a long avatar. */
const LARGE = { eventQuantity: 100, metadata: { scores: Array(1_640).fill(1) }, customerAvatar: '文'.repeat(32_000) };
const ISO_TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

let ingest: TestIngest;
let publishable: string;
let link: LinkRecord;

let callers = 0;
/** Headers of a page, from a new network each time, so that rate limits do not interfere. */
function callerHeaders(): Record<string, string> {
  callers += 1;
  return { authorization: `Bearer ${publishable}`, 'x-forwarded-for': `198.51.${callers >> 8}.${callers & 255}` };
}

async function post(what: 'lead' | 'sale', body: object, headers = callerHeaders()): Promise<Answer> {
  return ingest.post(`/track/${what}/client`, body, headers);
}

/** A report with the secret key. */
async function report(what: 'lead' | 'sale', body: object): Promise<void> {
  expect((await ingest.post(`/track/${what}`, body)).statusCode).toBe(200);
}

/** Creates a customer with a lead and a sale, reported with the secret key. */
async function plant(customerExternalId: string, invoiceId: string): Promise<string> {
  const clickId = await ingest.click(link);
  const metadata = { note: PRIVATE };
  await report('lead', {
    ...{ clickId, customerExternalId, eventName: LEAD_NAME, metadata },
    ...{ customerName: PRIVATE, customerEmail: `${PRIVATE}@example.com`, customerAvatar: `https://x.test/${PRIVATE}` },
  });
  await report('sale', { customerExternalId, invoiceId, amount: AMOUNT, metadata, eventName: PRIVATE });
  return clickId;
}

/** Two existing customers: one with claims in Redis, one only in ClickHouse and without a lead. */
const KNOWN = { met: 'met', imported: 'imported' } as const;
let clickOfKnown: string;

beforeAll(async () => {
  ingest = await startIngest({ currencies: { toUsd: (money) => convertToUsd(money, RATES), close: () => {} } });
  const { token } = await ingest.catalog.keys.create({
    workspaceId: ingest.workspaceId,
    name: 'Page',
    kind: 'publishable',
    role: 'owner',
    scopes: [],
  });
  publishable = token;
  link = await ingest.link({ trackConversion: true, externalId: PRIVATE, tenantId: PRIVATE, comments: PRIVATE });
  clickOfKnown = await plant(KNOWN.met, INVOICE);
  await ingest.catalog.customers.create(ingest.workspaceId, {
    externalId: KNOWN.imported,
    name: PRIVATE,
    email: `${PRIVATE}@example.com`,
  });
});
afterAll(() => ingest.stop());

/** Everything a caller can see in a response, except for what differs between calls anyway. */
function seen({ statusCode, headers, body }: Answer, own: Readonly<Record<string, string>>) {
  const {
    'x-request-id': _id,
    'x-ratelimit-remaining': _left,
    'x-ratelimit-reset': _reset,
    date: _date,
    ...kept
  } = headers;
  delete kept['content-length'];
  const text = Object.entries(own).reduce((left, [name, value]) => left.replaceAll(value, `{${name}}`), body);
  return { statusCode, headers: kept, body: text.replace(ISO_TIME, '{time}') };
}

function expectNothingPrivate(answer: Answer): void {
  for (const text of [PRIVATE, String(AMOUNT), clickOfKnown, 'cus_']) expect(answer.body).not.toContain(text);
}

let strangers = 0;
const freshId = (what: string) => `${what}-${++strangers}-of-nobody`;

interface Guess {
  readonly what: 'lead' | 'sale';
  /** Fields besides the customer; the click belongs to the caller. */
  readonly fields: object;
  readonly withClick: boolean;
  /** 200 by default. */
  readonly status?: number;
}

const TOO_LARGE = { eventQuantity: 100, metadata: { scores: Array(4_980).fill(1) } };

const GUESSES: readonly (readonly [string, Guess])[] = [
  ['a lead of an event that the customer has', { what: 'lead', withClick: true, fields: { eventName: LEAD_NAME } }],
  ['a lead of another event', { what: 'lead', withClick: true, fields: { eventName: 'Trial' } }],
  ['a deferred lead', { what: 'lead', withClick: true, fields: { eventName: 'Later', mode: 'deferred' } }],
  ['several leads', { what: 'lead', withClick: true, fields: { eventName: 'Seats', eventQuantity: 3 } }],
  ['a sale', { what: 'sale', withClick: false, fields: { amount: 100 } }],
  ['a sale in another currency', { what: 'sale', withClick: false, fields: { amount: 100, currency: 'eur' } }],
  ['a direct sale', { what: 'sale', withClick: true, fields: { amount: 100, metadata: { own: 1 } } }],
  ['a sale of a lead', { what: 'sale', withClick: false, fields: { amount: 100, leadEventName: LEAD_NAME } }],
  [
    'a sale for a lead name that does not exist',
    { what: 'sale', withClick: false, fields: { amount: 100, leadEventName: 'No such' } },
  ],
  [
    'a lead of an event that the customer has, which is too large',
    { what: 'lead', withClick: true, fields: { eventName: LEAD_NAME, ...TOO_LARGE }, status: 422 },
  ],
  [
    'a lead that is too large for a new customer',
    { what: 'lead', withClick: true, fields: { eventName: 'Large', ...LARGE }, status: 422 },
  ],
  [
    'a deferred lead, which would be too large otherwise',
    { what: 'lead', withClick: true, fields: { eventName: 'Late', mode: 'deferred', ...TOO_LARGE } },
  ],
  ['a sale that is too large in USD', { what: 'sale', withClick: false, fields: TOO_MANY_DINARS, status: 422 }],
  ['a direct sale that is too large in USD', { what: 'sale', withClick: true, fields: TOO_MANY_DINARS, status: 422 }],
  ['nothing for free', { what: 'sale', withClick: false, fields: { amount: 0 } }],
];
const TIMES = ['fresh', 'repeated'] as const;
const CASES = GUESSES.flatMap(([name, guess]) => TIMES.map((times) => [name, times, guess] as const));

it.each(CASES)('%s, %s: the response does not reveal whether the customer exists', async (_name, times, guess) => {
  const { what, fields, withClick, status = 200 } = guess;
  const answers = [];
  for (const customerExternalId of [...Object.values(KNOWN), freshId('customer')]) {
    const click: Record<string, string> = withClick ? { clickId: await ingest.click(link) } : {};
    const body = { customerExternalId, ...click, ...fields };
    if (times === 'repeated') await post(what, body);
    const answer = await post(what, body);
    expectNothingPrivate(answer);
    answers.push(seen(answer, { externalId: `"${customerExternalId}"`, ...click }));
  }
  const [first, ...others] = answers;
  expect(first?.statusCode).toBe(status);
  for (const other of others) expect(other).toEqual(first);
});

const INVOICES = [
  ['an invoice', 200, { amount: 5, currency: 'gbp' }],
  ['an invoice that is too large in USD', 422, TOO_MANY_DINARS],
] as const;
const INVOICE_CASES = INVOICES.flatMap(([name, ...rest]) => TIMES.map((times) => [name, times, ...rest] as const));

it.each(INVOICE_CASES)(
  '%s, %s: the response does not reveal whether it exists',
  async (_name, times, status, money) => {
    const answers = [];
    for (const invoiceId of [INVOICE, freshId('invoice')]) {
      for (const customerExternalId of [KNOWN.met, freshId('customer')]) {
        const body = { customerExternalId, invoiceId, ...money };
        if (times === 'repeated') await post('sale', body);
        const answer = await post('sale', body);
        expectNothingPrivate(answer);
        answers.push(seen(answer, { externalId: `"${customerExternalId}"`, invoiceId }));
      }
    }
    const [first, ...others] = answers;
    expect(first?.statusCode).toBe(status);
    for (const other of others) expect(other).toEqual(first);
  },
);

it.each(['lead', 'sale'] as const)('a %s of an unknown click is 404 for an existing customer too', async (what) => {
  const answers = [];
  for (const customerExternalId of [...Object.values(KNOWN), freshId('customer')]) {
    const body = { customerExternalId, clickId: 'nobodysclick0000', eventName: LEAD_NAME, amount: 1 };
    answers.push(seen(await post(what, body), {}));
  }
  const [first, ...others] = answers;
  expect(first?.statusCode).toBe(404);
  for (const other of others) expect(other).toEqual(first);
});

it.each(['lead', 'sale'] as const)(
  'a %s of a click of a disabled link is 404 for an existing customer too',
  async (what) => {
    const disabled = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(disabled);
    const disabledAt = new Date().toISOString();
    await ingest.catalog.links.update(ingest.workspaceId, disabled.id, (record) => ({ ...record, disabledAt }));
    const answers = [];
    for (const customerExternalId of [...Object.values(KNOWN), freshId('customer')]) {
      const body = { customerExternalId, clickId, eventName: LEAD_NAME, amount: 1 };
      answers.push(seen(await post(what, body), {}));
    }
    const [first, ...others] = answers;
    expect(first?.statusCode).toBe(404);
    for (const other of others) expect(other).toEqual(first);
  },
);

it.each([
  ['lead', 'customer', 3],
  ['lead', 'lead', 25],
  ['sale', 'customer', 3],
  ['sale', 'lead', 3],
  ['sale', 'sale', 25],
] as const)(
  'a %s is refused for every customer while each %s may be queued for %i hours',
  async (what, queued, hours) => {
    const { producer } = ingest;
    const hoursAgo = Date.now() - hours * 3_600_000;
    const behind: typeof producer = {
      ...producer,
      oldestQueuedMs: async (kind) => (kind === queued ? hoursAgo : producer.oldestQueuedMs(kind)),
    };
    const answers = [];
    for (const customerExternalId of [...Object.values(KNOWN), freshId('customer')]) {
      const body = { customerExternalId, clickId: await ingest.click(link), eventName: LEAD_NAME, amount: 1 };
      const answer = await ingest.postTo({ producers: [behind] }, `/track/${what}/client`, body, callerHeaders());
      answers.push(seen(answer, {}));
    }
    const [first, ...others] = answers;
    expect(first?.statusCode).toBe(500);
    for (const other of others) expect(other).toEqual(first);
  },
);

it('a response contains what the caller sent, and of the link what every visitor can see', async () => {
  const clickId = await ingest.click(link);
  const own = { customerName: 'Eve', customerEmail: 'eve@example.com', customerAvatar: 'https://eve.test/a.png' };
  const lead = await post('lead', { clickId, customerExternalId: KNOWN.met, eventName: LEAD_NAME, ...own });
  const { id, key, url } = link;
  expect(lead.json()).toEqual({
    click: { id: clickId },
    link: {
      ...{ id, domain: DOMAIN, key, shortLink: `https://${DOMAIN}/${key}`, url },
      ...{ partnerId: null, programId: null, tenantId: null, externalId: null },
    },
    customer: { name: 'Eve', email: 'eve@example.com', avatar: 'https://eve.test/a.png', externalId: KNOWN.met },
  });
  const sold = { customerExternalId: KNOWN.met, amount: 12, currency: 'eur', invoiceId: INVOICE, metadata: { own: 1 } };
  expect((await post('sale', { ...sold, eventName: 'Bought', ...own })).json()).toEqual({
    eventName: 'Bought',
    customer: null,
    sale: { amount: 12, currency: 'eur', paymentProcessor: 'custom', invoiceId: INVOICE, metadata: { own: 1 } },
  });
});

async function expectHidden(locked: LinkRecord, clickId: string): Promise<void> {
  const answer = await post('lead', { clickId, customerExternalId: freshId('customer'), eventName: LEAD_NAME });
  expect(answer.statusCode).toBe(200);
  expect(answer.body).not.toContain(locked.url);
  expect(answer.json()).toMatchObject({ link: { url: `https://${DOMAIN}/${locked.key}` } });
}

it('the destination of a link with a password is not revealed', async () => {
  const locked = await ingest.link({ trackConversion: true, url: 'https://acme.com/locked', password: 'sesame' });
  const { location } = (await ingest.visit(`/${locked.key}?pw=sesame`)).headers;
  await expectHidden(locked, new URL(String(location)).searchParams.get('dub_id') ?? '');
});

it('the destination of a link that expired after the click is not revealed', async () => {
  const expiring = await ingest.link({ trackConversion: true, url: 'https://acme.com/expired' });
  const clickId = await ingest.click(expiring);
  const expiresAt = new Date(Date.now() - 1000).toISOString();
  await ingest.catalog.links.update(ingest.workspaceId, expiring.id, (record) => ({ ...record, expiresAt }));
  await expectHidden(expiring, clickId);
});

/** Sends eight calls from one network at once. @returns their time in ms; fails unless all are answered with success */
async function eightAtOnce(what: 'lead' | 'sale', bodyOf: () => object): Promise<number> {
  const headers = callerHeaders();
  const startedMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(what, bodyOf(), headers)));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
  return performance.now() - startedMs;
}

it.each([
  ['customer', { customerExternalId: 'guessed', amount: 0 }, () => ({})],
  ['invoice', { amount: 1, invoiceId: 'guessed' }, () => ({ customerExternalId: freshId('customer') })],
])("of a network's calls for one unknown %s, only one at a time takes its claim", async (_what, body, fieldsOf) => {
  const { claims } = ingest.producer;
  const { take, release } = claims;
  const owners = new Set<string>();
  const atOnce: number[] = [];
  vi.spyOn(claims, 'take').mockImplementation((names, owner) => {
    owners.add(owner);
    atOnce.push(owners.size);
    return take(names, owner);
  });
  vi.spyOn(claims, 'release').mockImplementation(async (names, owner) => {
    await release(names, owner);
    owners.delete(owner);
  });
  try {
    await eightAtOnce('sale', () => ({ ...body, ...fieldsOf() }));
  } finally {
    vi.restoreAllMocks();
  }
  expect(Math.max(...atOnce)).toBe(1);
});

it.each([
  ['leads for a new customer', 'lead', { customerExternalId: 'new here', eventName: LEAD_NAME }],
  ['sales of 0 for a known customer', 'sale', { customerExternalId: KNOWN.met, amount: 0 }],
] as const)('%s, sent at once from one network, take a tenth of a second each', async (_name, what, body) => {
  const click = what === 'lead' ? { clickId: await ingest.click(link) } : {};
  // Timers may fire a millisecond early.
  expect(await eightAtOnce(what, () => ({ ...body, ...click }))).toBeGreaterThan(8 * 99);
});

it('a call does not wait for calls of another network, not even while those wait for an invoice', async () => {
  const headers = callerHeaders();
  const shared = freshId('customer');
  const ended: string[] = [];
  const strangers = [...Array(12).keys()].map(async (index) => {
    const own = index < 11 ? freshId('customer') : shared;
    await post('sale', { customerExternalId: own, amount: 0, invoiceId: 'of a stranger' }, headers);
    ended.push('stranger');
  });
  const visitor = post('sale', { customerExternalId: shared, amount: 0 }).then(() => ended.push('visitor'));
  await Promise.all([...strangers, visitor]);
  expect(ended.indexOf('visitor')).toBeLessThan(6);
});

it('every response takes at least a tenth of a second', async () => {
  const startedMs = performance.now();
  await post('sale', { customerExternalId: freshId('customer'), amount: 1 });
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(99);
});

describe('the published SDK', () => {
  /** The SDK has no methods for the client routes, so its calls are redirected to them. */
  function pageDub(): Dub {
    const fetcher = async (input: unknown): Promise<Response> => {
      const request = input as Request;
      const { pathname } = new URL(request.url);
      const answer = await ingest.post(`${pathname}/client`, await request.json(), callerHeaders());
      return new Response(answer.body, {
        status: answer.statusCode,
        headers: { 'content-type': 'application/json' },
      });
    };
    return new Dub({ token: publishable, serverURL: 'http://api.test', httpClient: new HTTPClient({ fetcher }) });
  }

  it('parses every response', async () => {
    const dub = pageDub();
    for (const customerExternalId of [KNOWN.met, freshId('customer')]) {
      const lead = { clickId: await ingest.click(link), eventName: LEAD_NAME, customerExternalId };
      const sale = { customerExternalId, amount: 7, invoiceId: INVOICE };
      for (const _times of TIMES) {
        expect(await dub.track.lead(lead)).toMatchObject({ click: { id: lead.clickId }, customer: { name: null } });
        expect(await dub.track.sale(sale)).toMatchObject({ customer: null, sale: { amount: 7 } });
      }
      expect(await dub.track.sale({ ...sale, amount: 0 })).toMatchObject({ customer: null, sale: null });
    }
  });
});
