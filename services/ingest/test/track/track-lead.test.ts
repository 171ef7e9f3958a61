import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createEventId, parseResourceId } from '@waymark/contract';
import { createClaimAdmin, customerClaim } from '@waymark/event-queue';
import { aClick, insertClicks } from '@waymark/test-kit';
import { Dub } from 'dub';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
});
afterAll(() => ingest.stop());

let customers = 0;
const someone = () => {
  customers += 1;
  return `customer ${customers}`;
};
const lead = (body: unknown, headers?: Record<string, string>) => ingest.post('/track/lead', body, headers);
const leadsOf = (clickId: string, count: number) =>
  ingest.rowsWhen(count, 'lead_events', 'click_id = {click:String}', { click: clickId });

describe('POST /track/lead', () => {
  it('records a lead with the attributes of its click, and creates the customer', async () => {
    const link = await ingest.link({ trackConversion: true, externalId: 'ext-1', tenantId: 'tenant-1' });
    const clickId = await ingest.click(link, { 'cf-ipcountry': 'US', 'cf-ipcity': 'Austin' });
    const externalId = someone();
    const answer = await lead({
      clickId,
      eventName: 'Sign up',
      customerExternalId: externalId,
      customerName: 'Ada',
      customerEmail: 'ada@example.com',
      customerAvatar: 'https://example.com/ada.png',
      metadata: { plan: 'pro', seats: 3 },
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      click: { id: clickId },
      link: {
        id: link.id,
        domain: DOMAIN,
        key: link.key,
        shortLink: `https://${DOMAIN}/${link.key}`,
        url: link.url,
        partnerId: null,
        programId: null,
        tenantId: 'tenant-1',
        externalId: 'ext-1',
      },
      customer: { name: 'Ada', email: 'ada@example.com', avatar: 'https://example.com/ada.png', externalId },
    });

    const [row] = await leadsOf(clickId, 1);
    const [click] = await ingest.rows('click_events', 'click_id = {click:String}', { click: clickId });
    for (const column of ['link_id', 'country', 'city', 'device', 'browser', 'os', 'url', 'referer', 'trigger', 'ip']) {
      expect(row?.[column]).toEqual(click?.[column]);
    }
    expect(row).toMatchObject({
      event_name: 'Sign up',
      click_timestamp: click?.timestamp,
      metadata_kv: ['plan=pro', 'seats=3'],
    });
    expect(JSON.parse(String(row?.payload))).toMatchObject({
      metadata: { plan: 'pro', seats: 3 },
      click: { id: clickId, city: 'Austin' },
    });

    const customer = await ingest.customer(externalId);
    expect(customer).toMatchObject({
      name: 'Ada',
      country: 'US',
      clickId,
      linkId: link.id,
      clickedAt: click?.timestamp,
    });
    expect(parseResourceId('customer', customer.id)).toBe(row?.customer_id);
  });

  it('names a customer by its email, else generates a name', async () => {
    const link = await ingest.link({ trackConversion: true });
    const byEmail = await lead({
      clickId: await ingest.click(link),
      eventName: 'a',
      customerExternalId: someone(),
      customerEmail: 'grace@example.com',
    });
    expect(byEmail.json()).toMatchObject({ customer: { name: 'grace@example.com', avatar: null } });
    const made = await lead({ clickId: await ingest.click(link), eventName: 'a', customerExternalId: someone() });
    expect(made.json<{ customer: { name: string } }>().customer.name).toMatch(/^[A-Z][a-z]+ [A-Z][a-z]+$/);
  });

  it('records a lead of one name once per customer, ignoring case and spaces', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const body = { clickId, eventName: 'Sign Up', customerExternalId: someone(), customerName: 'Ada' };
    const first = await lead(body);
    for (const eventName of ['Sign Up', 'sign up', 'SIGN-UP']) {
      const answer = await lead({ ...body, eventName, customerName: 'Eve' });
      expect(answer.statusCode).toBe(200);
      expect(answer.json()).toEqual({ ...first.json<object>(), link: null });
    }
    expect((await lead({ ...body, eventName: 'Demo' })).json()).toMatchObject({ link: { id: link.id } });
    const rows = await leadsOf(clickId, 2);
    expect(rows.map((row) => row.event_name).sort()).toEqual(['Demo', 'Sign Up']);
  });

  it('records a lead of one name once per customer, after its claim has expired as well', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const body = { clickId, eventName: 'Übung 1', customerExternalId: someone(), customerName: 'Ada' };
    const first = await lead(body);
    await leadsOf(clickId, 1);
    await ingest.rowsWhen(1, 'names', "kind = 'customer' AND name = {name:String}", { name: body.customerExternalId });
    const claims = await ingest.redisClient.keys('{waymark}:claim:*');
    await ingest.redisClient.del(...claims);
    const second = await ingest.click(link);
    for (const eventName of ['Übung 1', 'übung-1', 'ÜBUNG 1']) {
      const answer = await lead({ ...body, eventName, clickId: second, customerName: 'Eve' });
      expect(answer.json()).toEqual({ ...first.json<object>(), link: null });
    }
    expect((await lead({ ...body, eventName: 'Ubung 1' })).json()).toMatchObject({ link: { id: link.id } });
    // ClickHouse returns them in any order.
    expect((await leadsOf(clickId, 2)).map((row) => row.event_name).sort()).toEqual(['Ubung 1', 'Übung 1']);
  });

  it('records one lead for concurrent requests, and one customer for many leads', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const externalId = someone();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        lead({ clickId, eventName: `event ${index % 3}`, customerExternalId: externalId }),
      ),
    );
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(30).fill(200));
    expect(answers.filter((answer) => answer.json<{ link: unknown }>().link !== null)).toHaveLength(3);
    const rows = await leadsOf(clickId, 3);
    expect(new Set(rows.map((row) => row.customer_id)).size).toBe(1);
    await ingest.rowsWhen(1, 'customers', 'external_id = {id:String}', { id: externalId });
  });

  it('creates a customer once, even if its claim is removed while another lead of it is under way', async () => {
    const { redisClient, catalog, workspaceId } = ingest;
    // As after the first half minute of an installation.
    await redisClient.set(`{waymark}:claim:filters-seen:${workspaceId}`, '1');
    await redisClient.del(`{waymark}:claim:filters:${workspaceId}`);
    const clickId = await ingest.click(await ingest.link({ trackConversion: true }));
    const body = { clickId, eventName: 'Sign up', customerExternalId: someone() };
    const events = new EventEmitter();
    const isLookedUp = once(events, 'looked up');
    const mayContinue = once(events, 'continue');
    const customers: typeof catalog.customers = {
      ...catalog.customers,
      async isNew(...parameters) {
        const isNew = await catalog.customers.isNew(...parameters);
        events.emit('looked up');
        await mayContinue;
        return isNew;
      },
    };
    const late = ingest.postTo({ catalog: { ...catalog, customers } }, '/track/lead', body);
    await isLookedUp;
    const first = await lead(body);
    // As a change of the customer does.
    const claims = createClaimAdmin(redisClient);
    await claims.blockFilters(workspaceId);
    await claims.remove([customerClaim(workspaceId, body.customerExternalId)]);
    events.emit('continue');
    expect((await late).json()).toEqual({ ...first.json<object>(), link: null });
    await leadsOf(clickId, 1);
  });

  it('keeps the first click of a customer, and records a later lead under the click in its request', async () => {
    const [first, second] = [
      await ingest.link({ trackConversion: true }),
      await ingest.link({ trackConversion: true }),
    ];
    const firstClick = await ingest.click(first);
    const secondClick = await ingest.click(second);
    const customerExternalId = someone();
    await lead({ clickId: firstClick, eventName: 'one', customerExternalId });
    const answer = await lead({ clickId: secondClick, eventName: 'two', customerExternalId });
    expect(answer.json()).toMatchObject({ click: { id: secondClick }, link: { id: second.id } });
    await leadsOf(secondClick, 1);
    await ingest.rowsWhen(1, 'customers', 'external_id = {id:String}', { id: customerExternalId });
    const stored = await ingest.customer(customerExternalId);
    expect(stored).toMatchObject({ clickId: firstClick, linkId: first.id });

    const without = await lead({ clickId: '', eventName: 'three', customerExternalId });
    expect(without.json()).toMatchObject({ click: { id: firstClick }, link: { id: first.id } });
  });

  it('finds a customer that only ClickHouse has', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const customerExternalId = someone();
    await lead({ clickId, eventName: 'one', customerExternalId });
    await leadsOf(clickId, 1);
    await ingest.customer(customerExternalId);
    expect(await forgetClaim(customerClaim(ingest.workspaceId, customerExternalId))).toBe(1);
    await lead({ eventName: 'two', customerExternalId });
    const rows = await leadsOf(clickId, 2);
    expect(new Set(rows.map((row) => row.customer_id)).size).toBe(1);
  });

  it('deferred only creates the customer; a later lead without a click id is recorded', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const customerExternalId = someone();
    const body = { eventName: 'Sign up', customerExternalId };
    const deferred = await lead({ ...body, clickId, mode: 'deferred' });
    expect(deferred.json()).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    await lead({ ...body, clickId, mode: 'deferred' });
    expect((await ingest.post('/track/sale', { customerExternalId, amount: 100 })).statusCode).toBe(404);
    const recorded = await lead({ ...body, mode: 'wait' });
    expect(recorded.json()).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    const rows = await leadsOf(clickId, 1);
    expect(rows[0]?.event_name).toBe('Sign up');
  });

  it('records as many leads as the quantity', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    await lead({ clickId, eventName: 'Seats', customerExternalId: someone(), eventQuantity: 7, metadata: { a: 1 } });
    const rows = await leadsOf(clickId, 7);
    expect(new Set(rows.map((row) => row.event_id)).size).toBe(7);
    // A materialized view is updated shortly after its table.
    const counters = async () => (await ingest.catalog.links.counters(ingest.workspaceId, [link.id])).get(link.id);
    await expect.poll(counters, { timeout: 10_000 }).toMatchObject({ clicks: 1, leads: 7 });
  });

  it('replaces characters that ClickHouse’s JSON parser rejects', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    const answer = await lead({
      clickId,
      eventName: 'half \ud83d, whole 😀, nul \u0000, text \\ud83d',
      customerExternalId: `half \udc00 ${someone()}`,
      metadata: { 'k\ud800': 'v\u0000' },
    });
    expect(answer.statusCode).toBe(200);
    const [row] = await leadsOf(clickId, 1);
    expect(row?.event_name).toBe('half \ufffd, whole 😀, nul \ufffd, text \\ud83d');
    expect(row?.metadata_kv).toEqual(['k\ufffd=v\ufffd']);
  });

  it('is rejected while Redis is short of memory', async () => {
    const producer = { ...ingest.producer, load: () => 'shed-track' as const };
    for (const path of ['/track/lead', '/track/sale']) {
      const body = { clickId: 'x', eventName: 'a', customerExternalId: someone(), amount: 1 };
      const answer = await ingest.postTo({ producers: [producer] }, path, body);
      expect(answer.statusCode).toBe(429);
      expect(answer.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
      expect(answer.headers['retry-after']).toBe('5');
    }
  });

  it('a rejected lead does not count as recorded', async () => {
    const link = await ingest.link({ trackConversion: true });
    const body = { eventName: 'again', customerExternalId: someone() };
    expect((await lead(body)).statusCode).toBe(400);
    expect((await lead({ ...body, clickId: createEventId(Date.now() - 86_400_000) })).statusCode).toBe(404);
    const clickId = await ingest.click(link);
    expect((await lead({ ...body, clickId })).json()).toMatchObject({ link: { id: link.id } });
  });

  it('does not find clicks that are too old, forged, of another workspace, or of deleted links', async () => {
    const other = await ingest.catalog.workspaces.create({
      name: 'Other',
      slug: `other-${Date.now()}`,
      plan: 'enterprise',
      domain: 'other.test',
    });
    const foreign = await ingest.catalog.links.create(other.workspace.id, {
      domain: 'other.test',
      key: 'x',
      url: 'https://other.com',
      trackConversion: true,
    });
    const foreignVisit = await ingest.visit('/x', { host: 'other.test' });
    const foreignClick = new URL(String(foreignVisit.headers.location)).searchParams.get('dub_id') ?? '';
    await ingest.rowsWhen(1, 'click_events', 'click_id = {click:String}', { click: foreignClick });
    expect(foreign.workspaceId).toBe(other.workspace.id);

    const disabled = await ingest.link({ trackConversion: true });
    const disabledClick = await ingest.click(disabled);
    await ingest.catalog.links.update(ingest.workspaceId, disabled.id, (record) => ({
      ...record,
      disabledAt: new Date().toISOString(),
    }));
    const goneMs = Date.now() - 120_000;
    const gone = createEventId(goneMs);
    await insertClicks(ingest.clickhouse, [
      aClick({
        workspaceId: parseResourceId('workspace', ingest.workspaceId) ?? '',
        linkId: '12345',
        clickId: gone,
        timestampMs: goneMs,
      }),
    ]);
    const unknown = createEventId(Date.now() - 3_600_000);
    const future = createEventId(Date.now() + 11 * 60_000);
    for (const clickId of [unknown, future, 'x', 'zzzzzzzzzzzzzzzz', "'; --", foreignClick, disabledClick, gone]) {
      const answer = await lead({ clickId, eventName: 'a', customerExternalId: someone() });
      expect([clickId, answer.statusCode]).toEqual([clickId, 404]);
      expect(answer.json()).toMatchObject({ error: { code: 'not_found' } });
    }
  });

  it.each([
    [{}, 400],
    ['[]', 400],
    [{ clickId: 'x', eventName: 'a' }, 400],
    [{ clickId: 'x', customerExternalId: 'c' }, 400],
    [{ clickId: 'x', eventName: null, customerExternalId: 'c' }, 400],
    [{ clickId: 7, eventName: 'a', customerExternalId: 'c' }, 400],
    [{ eventName: 'a', customerExternalId: 'nobody' }, 400],
    [{ clickId: ' ', eventName: 'a', customerExternalId: 'nobody' }, 400],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', metadata: [] }, 400],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', metadata: 'x' }, 400],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', eventQuantity: '2' }, 400],
    [{ clickId: 'x', eventName: '', customerExternalId: 'c' }, 422],
    [{ clickId: 'x', eventName: 'a'.repeat(256), customerExternalId: 'c' }, 422],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c'.repeat(101) }, 422],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', mode: 'later' }, 422],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', eventQuantity: 101 }, 422],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', eventQuantity: 0 }, 422],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', customerEmail: 'nobody' }, 422],
    [{ clickId: 'x', eventName: 'a', customerExternalId: 'c', metadata: { a: 'x'.repeat(10_000) } }, 422],
  ])('refuses %j with %i', async (body, status) => {
    const answer = await lead(body);
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code: status === 400 ? 'bad_request' : 'unprocessable_entity' } });
  });

  it('needs a key of an owner or member, the Business plan, and a write scope', async () => {
    const body = { clickId: 'x', eventName: 'a', customerExternalId: 'c' };
    expect((await lead(body, { authorization: '' })).statusCode).toBe(401);
    expect((await lead(body, { authorization: 'Bearer dub_unknown' })).statusCode).toBe(401);
    const key = async (fields: object) =>
      (
        await ingest.catalog.keys.create({
          workspaceId: ingest.workspaceId,
          name: 'k',
          kind: 'secret',
          ...fields,
        } as never)
      ).token;
    const readOnly = await key({ role: 'owner', scopes: ['apis.read'] });
    expect((await lead({}, { authorization: `Bearer ${readOnly}` })).statusCode).toBe(403);
    for (const role of ['viewer', 'billing']) {
      const reader = await key({ scopes: [], role });
      expect((await lead({}, { authorization: `Bearer ${reader}` })).statusCode).toBe(403);
    }
    const { apiKey } = await ingest.catalog.workspaces.create({ name: 'Pro', slug: `pro-${Date.now()}`, plan: 'pro' });
    expect((await lead({}, { authorization: `Bearer ${apiKey.token}` })).statusCode).toBe(403);
  });

  it('works with the public SDK, aliases of the customer’s id included', async () => {
    const link = await ingest.link({ trackConversion: true });
    const clickId = await ingest.click(link);
    await ingest.trackApp.listen({ host: '127.0.0.1', port: 0 });
    const { port } = ingest.trackApp.server.address() as AddressInfo;
    const dub = new Dub({ token: ingest.token, serverURL: `http://127.0.0.1:${port}` });
    const customerExternalId = someone();
    const tracked = await dub.track.lead({ clickId, eventName: 'Sign up', customerExternalId, metadata: { a: 1 } });
    expect(tracked).toMatchObject({ click: { id: clickId }, link: { id: link.id } });
    const sale = await dub.track.sale({
      customerExternalId,
      amount: 2900,
      invoiceId: 'INV-sdk',
      paymentProcessor: 'stripe',
    });
    expect(sale).toMatchObject({
      eventName: 'Purchase',
      sale: { amount: 2900, currency: 'usd', invoiceId: 'INV-sdk' },
    });
    await expect(
      dub.track.lead({ clickId: 'none', eventName: 'x', customerExternalId: someone() }),
    ).rejects.toMatchObject({ statusCode: 404 });
    const alias = await lead({ clickId, eventName: 'Alias', externalId: customerExternalId });
    expect(alias.json()).toMatchObject({ customer: { externalId: customerExternalId } });
  });
});

/** Deletes a claim, as if it had expired; filters that rely on claims end before these do. */
async function forgetClaim(name: string): Promise<number> {
  await ingest.redisClient.del(`{waymark}:claim:filters:${ingest.workspaceId}`);
  return ingest.redisClient.del(`{waymark}:claim:${name}`);
}
