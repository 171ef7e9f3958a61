import { parseResourceId } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

let ingest: TestIngest;
let publishable: string;
beforeAll(async () => {
  ingest = await startIngest();
  ingest.startWriter();
  const issued = await ingest.catalog.keys.create({
    workspaceId: ingest.workspaceId,
    name: 'Page',
    kind: 'publishable',
    role: 'owner',
    scopes: [],
  });
  publishable = issued.token;
});
afterAll(() => ingest.stop());

let customers = 0;

function post(what: 'lead' | 'sale', body: object, headers: Record<string, string> = {}) {
  return ingest.trackApp.inject({
    method: 'POST',
    url: `/track/${what}/client`,
    headers: { authorization: `Bearer ${publishable}`, ...headers },
    payload: body,
  });
}

async function leadOf(fields: object = {}) {
  customers += 1;
  const link = await ingest.link({ trackConversion: true });
  const clickId = await ingest.click(link);
  return { link, body: { clickId, eventName: 'Sign up', customerExternalId: `page-${customers}`, ...fields } };
}

describe('conversions reported by pages', () => {
  it('a lead and its sale are recorded like those with a secret key', async () => {
    const { link, body } = await leadOf({ customerName: 'Ada', metadata: { plan: 'pro' } });
    const lead = await post('lead', body);
    expect(lead.statusCode).toBe(200);
    expect(lead.json()).toMatchObject({
      click: { id: body.clickId },
      link: { id: link.id },
      customer: { name: 'Ada' },
    });
    const sale = await post('sale', { customerExternalId: body.customerExternalId, amount: 500, invoiceId: 'page-1' });
    expect(sale.json()).toMatchObject({ sale: { amount: 500, currency: 'usd', invoiceId: 'page-1' } });
    for (const table of ['lead_events', 'sale_events']) {
      await ingest.rowsWhen(1, table, 'link_id = {id:UInt64}', { id: parseResourceId('link', link.id) });
    }
    for (const answer of [lead, sale]) {
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*', 'x-ratelimit-limit': '600' });
    }
  });

  it('answers the link port’s domains as it answers the API', async () => {
    const { body } = await leadOf();
    const { id: workspaceId } = (await ingest.catalog.workspaces.list())[0] ?? { id: '' };
    const both = async (path: string, headers: Record<string, string>, payload: object) => {
      const answers = await Promise.all(
        [ingest.trackApp, ingest.linkApp].map((app) => app.inject({ method: 'POST', url: path, headers, payload })),
      );
      const [api, link] = answers.map((answer) => ({
        status: answer.statusCode,
        cors: answer.headers['access-control-allow-origin'],
        limit: answer.headers['x-ratelimit-limit'],
        body: answer.json(),
      }));
      expect(link).toEqual(api);
      return link;
    };
    const host = DOMAIN;
    const key = { host, authorization: `Bearer ${publishable}` };
    const lead = await both('/track/lead/client', key, body);
    expect(lead).toMatchObject({ status: 200, cors: '*', limit: '600', body: { click: { id: body.clickId } } });
    const sale = { customerExternalId: body.customerExternalId, amount: 700, invoiceId: 'both-ports' };
    expect(await both('/track/sale/client', key, sale)).toMatchObject({ status: 200, body: { sale: { amount: 700 } } });
    await ingest.rowsWhen(1, 'sale_events', 'invoice_id = {id:String}', { id: 'both-ports' });

    expect(await both('/track/lead/client', { host }, body)).toMatchObject({ status: 401 });
    const secret = { host, authorization: `Bearer ${ingest.token}` };
    expect(await both('/track/lead/client', secret, body)).toMatchObject({ status: 401 });
    await ingest.catalog.workspaces.update(workspaceId, { allowedHostnames: ['acme.com'] });
    const elsewhere = { ...key, referer: 'https://evil.test/' };
    expect(await both('/track/lead/client', elsewhere, body)).toMatchObject({ status: 403, cors: '*' });
    await ingest.catalog.workspaces.update(workspaceId, { allowedHostnames: [] });
  });

  it('the server’s routes are not on link domains, and other paths under /track/ are links', async () => {
    const headers = { host: DOMAIN, authorization: `Bearer ${ingest.token}` };
    const answer = await ingest.linkApp.inject({ method: 'POST', url: '/track/lead', headers, payload: {} });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    await ingest.link({ key: 'track/order', url: 'https://acme.com/order', password: 'open sesame' });
    const form = await ingest.linkApp.inject({
      method: 'POST',
      url: '/track/order',
      headers: { host: DOMAIN, 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'password=open+sesame',
    });
    expect([form.statusCode, form.headers.location]).toEqual([303, '/track/order']);
  });

  it('the click id is required, and aliases of the customer’s id are not accepted', async () => {
    const { body } = await leadOf();
    const { clickId: _clickId, ...withoutClick } = body;
    const { customerExternalId, ...withoutCustomer } = body;
    for (const [refused, status] of [
      [withoutClick, 400],
      [{ ...body, clickId: '' }, 422],
      [{ ...withoutCustomer, externalId: customerExternalId }, 400],
      [{ ...withoutCustomer, customerId: customerExternalId }, 400],
    ] as const) {
      const answer = await post('lead', refused);
      expect(answer.statusCode).toBe(status);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
    }
    expect((await post('sale', { externalId: 'x', amount: 1 })).statusCode).toBe(400);
  });

  it.each([
    ['no key', {}],
    ['an empty header', { authorization: '' }],
    ['another scheme', { authorization: 'Basic abc' }],
    ['a publishable key nobody has', { authorization: `Bearer dub_pk_${'x'.repeat(24)}` }],
    ['a key of another form', { authorization: 'Bearer dub_pk_short' }],
  ])('%s is refused with 401, open to other origins', async (_what, headers) => {
    const answer = await ingest.trackApp.inject({ method: 'POST', url: '/track/lead/client', headers, payload: {} });
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toMatchObject({ error: { code: 'unauthorized' } });
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  it('a secret key is rejected on client routes, and a publishable one on server routes', async () => {
    const { body } = await leadOf();
    expect((await post('lead', body, { authorization: `Bearer ${ingest.token}` })).statusCode).toBe(401);
    expect((await ingest.post('/track/lead', body, { authorization: `Bearer ${publishable}` })).statusCode).toBe(401);
  });

  it('an expired key, a small plan and a page that is not allowed are rejected', async () => {
    const { body } = await leadOf();
    const { workspaces, keys } = ingest.catalog;
    const expired = await keys.create({
      workspaceId: ingest.workspaceId,
      name: 'Old',
      kind: 'publishable',
      role: 'owner',
      scopes: [],
      expiresAt: new Date(Date.now() - 1000).toISOString(),
    });
    expect((await post('lead', body, { authorization: `Bearer ${expired.token}` })).statusCode).toBe(401);

    await workspaces.update(ingest.workspaceId, { plan: 'pro' });
    expect((await post('lead', body)).statusCode).toBe(403);
    await workspaces.update(ingest.workspaceId, { plan: 'business', allowedHostnames: ['acme.com'] });
    expect((await post('lead', body)).statusCode).toBe(403);
    expect((await post('lead', body, { origin: 'https://evil.com' })).json()).toMatchObject({
      error: { code: 'forbidden', message: expect.stringContaining('evil.com') },
    });
    expect((await post('lead', body, { origin: 'https://acme.com' })).statusCode).toBe(200);
    await workspaces.update(ingest.workspaceId, { plan: 'enterprise', allowedHostnames: [] });
  });

  it('six hundred calls per minute are allowed', async () => {
    const { token } = await ingest.catalog.keys.create({
      workspaceId: ingest.workspaceId,
      name: 'Busy',
      kind: 'publishable',
      role: 'owner',
      scopes: [],
    });
    const from = (network: number) => ({
      ...{ authorization: `Bearer ${token}`, 'x-forwarded-for': `198.51.100.${network}` },
    });
    for (let network = 0; network < 6; network++) {
      await Promise.all(Array.from({ length: 100 }, () => post('sale', {}, from(network))));
    }
    const answer = await post('sale', {}, from(7));
    expect(answer.statusCode).toBe(429);
    expect(answer.body).toContain('600 requests in 60 s.');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('the OpenAPI document and the reference state that they need a publishable key', async () => {
    const { paths } = (await ingest.trackApp.inject('/openapi.json')).json<{
      paths: Record<string, { post: { security?: unknown; description?: string; responses: object } }>;
    }>();
    for (const path of ['/track/lead/client', '/track/sale/client']) {
      expect(paths[path]?.post.security).toEqual([{ publishableKey: [] }]);
      expect(paths[path]?.post.description).toBe('Needs a publishable key, the plan business or higher.');
      expect(paths[path]?.post.responses).toHaveProperty('401');
    }
    expect(paths['/track/click']?.post.security).toBeUndefined();
    const [, section = ''] = (await ingest.trackApp.inject('/docs')).body.split('id="postTrackLeadClient"');
    expect(section.split('</section>')[0]).toContain('Authorization: Bearer $WAYMARK_PUBLISHABLE_KEY');
  });

  it('preflights are answered', async () => {
    for (const what of ['lead', 'sale']) {
      const answer = await ingest.trackApp.inject({ method: 'OPTIONS', url: `/track/${what}/client` });
      expect([answer.statusCode, answer.headers['access-control-allow-headers']]).toEqual([
        204,
        'Content-Type, Authorization',
      ]);
    }
  });
});

describe('GET /internal/domain-check', () => {
  it('is on the API port of ingest as well; on the link port the path is a short link', async () => {
    const ask = async (domain: string) =>
      (await ingest.trackApp.inject(`/internal/domain-check?domain=${domain}`)).statusCode;
    expect([await ask(DOMAIN), await ask('nobody.example')]).toEqual([200, 404]);
    const visit = await ingest.visit(`/internal/domain-check?domain=${DOMAIN}`);
    expect([visit.statusCode, visit.headers['content-type']]).toEqual([404, expect.stringContaining('text/html')]);
  });
});
