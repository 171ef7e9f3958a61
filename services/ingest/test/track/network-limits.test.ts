import type { LinkRecord } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, BROWSER, DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

const EVENTS_PER_MONTH = 1000;
/** Of one network, under the quota above; the smallest daily limit. */
const EVENTS_PER_DAY = 100;

let ingest: TestIngest;
let publishable: string;
let link: LinkRecord;
beforeAll(async () => {
  ingest = await startIngest();
  const { keys, workspaces } = ingest.catalog;
  const key = {
    workspaceId: ingest.workspaceId,
    name: 'Page',
    kind: 'publishable',
    role: 'owner',
    scopes: [],
  } as const;
  publishable = (await keys.create(key)).token;
  await workspaces.update(ingest.workspaceId, { quotas: { eventsPerMonth: EVENTS_PER_MONTH } });
  link = await ingest.link({ trackConversion: true });
});
afterAll(() => ingest.stop());

let networks = 0;
/** An IPv4 address that no other test uses. */
const anAddress = () => `198.51.100.${++networks}`;
/** The prefix of a new IPv6 /64. */
const aNetwork = () => `2001:db8:0:${(++networks).toString(16)}`;

let agents = 0;

function call(path: string, body: object, address: string, headers: Record<string, string> = {}): Promise<Answer> {
  return ingest.linkApp.inject({
    method: 'POST',
    url: path,
    headers: { 'user-agent': BROWSER, 'x-forwarded-for': address, ...headers },
    payload: body,
  });
}

/** A new visitor behind the same address. */
const anAgent = () => ({ 'user-agent': `${BROWSER} Visitor/${++agents}` });

function fromPage(what: 'lead' | 'sale', body: object, address: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${publishable}`, 'x-forwarded-for': address };
  return ingest.post(`/track/${what}/client`, body, headers);
}

function repeated(times: number, work: () => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: times }, work));
}

function expectRefused(answer: Answer, rule: string): void {
  expect(answer.statusCode).toBe(429);
  expect(answer.json()).toMatchObject({
    error: { code: 'rate_limit_exceeded', message: expect.stringContaining(rule) },
  });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect(answer.headers['access-control-allow-origin']).toBe('*');
}

describe('calls per minute', () => {
  it('one network may send 600 browser reports of any kind; others are not affected', async () => {
    const [busy, quiet] = [anAddress(), anAddress()];
    for (const path of ['/track/click', '/track/open', '/track/visit']) {
      for (const { statusCode } of await repeated(200, () => call(path, {}, busy)))
        expect([400, 422]).toContain(statusCode);
    }
    for (const path of ['/track/click', '/track/open', '/track/visit']) {
      expectRefused(await call(path, {}, busy), '600 requests in 60 s from one network');
    }
    expect((await call('/track/click', { domain: DOMAIN, key: link.key }, quiet)).statusCode).toBe(200);
  });

  it('all addresses of a /64 count as one network', async () => {
    const [busy, quiet] = [aNetwork(), aNetwork()];
    let host = 0;
    await repeated(600, () => call('/track/click', {}, `${busy}::${(++host).toString(16)}`));
    expectRefused(await call('/track/click', {}, `${busy}:ffff:ffff:ffff:ffff`), 'from one network');
    expect((await call('/track/click', {}, `${quiet}::1`)).statusCode).toBe(400);
  });

  it('one network may make 120 with a publishable key, and rejected calls do not count against the key', async () => {
    const [busy, quiet] = [anAddress(), anAddress()];
    await repeated(120, () => fromPage('lead', {}, busy));
    for (const answer of await repeated(600, () => fromPage('sale', {}, busy))) {
      expectRefused(answer, '120 requests in 60 s from one network');
    }
    expect((await fromPage('sale', { customerExternalId: 'quiet', amount: 1 }, quiet)).statusCode).toBe(200);
  });
});

describe('events per day', () => {
  const RULE = `one network may record ${EVENTS_PER_DAY} a day in this workspace without a secret key`;

  it('one network may record a limited number in a workspace, so that it cannot exhaust the quota', async () => {
    const [busy, quiet] = [anAddress(), anAddress()];
    const body = { domain: DOMAIN, key: link.key };
    const first = await call('/track/click', body, busy);
    for (const { statusCode } of await repeated(EVENTS_PER_DAY - 1, () =>
      call('/track/click', body, busy, anAgent()),
    )) {
      expect(statusCode).toBe(200);
    }
    const view = { domain: DOMAIN, url: `https://${DOMAIN}/${link.key}` };
    const open = { deepLink: `https://${DOMAIN}/${link.key}` };
    expectRefused(await call('/track/click', body, busy, anAgent()), RULE);
    expectRefused(await call('/track/visit', view, busy, anAgent()), RULE);
    expectRefused(await call('/track/open', open, busy, anAgent()), RULE);
    expectRefused(await fromPage('sale', { customerExternalId: 'x', amount: 1 }, busy), RULE);
    // A visitor with a recent click is still recognised, and a bot is not counted.
    expect((await call('/track/click', body, busy)).json()).toEqual(first.json());
    expect((await call('/track/click', body, busy, { 'user-agent': 'Googlebot' })).statusCode).toBe(200);
    expect((await call('/track/click', body, quiet)).statusCode).toBe(200);
  });

  it('returning visitors are not counted', async () => {
    const address = anAddress();
    const body = { domain: DOMAIN, key: link.key };
    expect((await call('/track/click', body, address)).statusCode).toBe(200);
    for (const { statusCode } of await repeated(EVENTS_PER_DAY, () => call('/track/click', body, address))) {
      expect(statusCode).toBe(200);
    }
    expect((await call('/track/click', body, address, anAgent())).statusCode).toBe(200);
  });

  it('a lead with a quantity counts as many, and a direct sale as two', async () => {
    const [busy, seller] = [anAddress(), anAddress()];
    const lead = {
      clickId: await ingest.click(link),
      eventName: 'Seats',
      customerExternalId: 'many',
      eventQuantity: 99,
    };
    expect((await fromPage('lead', lead, busy)).statusCode).toBe(200);
    expectRefused(await fromPage('lead', { ...lead, eventName: 'Two', eventQuantity: 2 }, busy), RULE);
    // Refused events do not count.
    expect((await fromPage('lead', { ...lead, eventName: 'One', eventQuantity: 1 }, busy)).statusCode).toBe(200);
    expectRefused(await fromPage('lead', { ...lead, eventName: 'Last', eventQuantity: 1 }, busy), RULE);

    await fromPage('lead', { ...lead, eventName: 'More', customerExternalId: 'direct' }, seller);
    const sale = { customerExternalId: 'direct', amount: 1, clickId: lead.clickId };
    expectRefused(await fromPage('sale', sale, seller), RULE);
  });

  it('a secret key is not limited by network', async () => {
    const busy = anAddress();
    const clickId = await ingest.click(link);
    for (const eventName of ['One', 'Two', 'Three']) {
      const lead = { clickId, eventName, customerExternalId: 'server', eventQuantity: 100 };
      expect((await ingest.post('/track/lead', lead, { 'x-forwarded-for': busy })).statusCode).toBe(200);
    }
  });

  it('are limited to a 300th of the monthly quota if that is more, and unlimited without a quota', async () => {
    const { workspaces } = ingest.catalog;
    const clickId = await ingest.click(link);
    const [large, unlimited] = [anAddress(), anAddress()];
    const leads = (address: string) => async () => {
      const lead = { clickId, eventName: `Lead ${++agents}`, customerExternalId: 'large', eventQuantity: 100 };
      return fromPage('lead', lead, address);
    };
    await workspaces.update(ingest.workspaceId, { quotas: { eventsPerMonth: 90_000 } });
    for (const { statusCode } of await repeated(3, leads(large))) expect(statusCode).toBe(200);
    expectRefused(await leads(large)(), 'may record 300 a day');
    await workspaces.update(ingest.workspaceId, { quotas: { eventsPerMonth: null } });
    for (const { statusCode } of await repeated(4, leads(unlimited))) expect(statusCode).toBe(200);
  });
});

it('Redis stores none of the addresses', async () => {
  await call('/track/click', { domain: DOMAIN, key: link.key }, '203.0.113.99');
  await call('/track/click', { domain: DOMAIN, key: link.key }, '2001:db8:aaaa:bbbb::1');
  const names = await ingest.redisClient.keys('waymark:limit:track-*');
  expect(names.length).toBeGreaterThan(3);
  expect(names.join()).not.toMatch(/203\.0|198\.51|2001:db8/);
});
