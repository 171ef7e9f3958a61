import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, DOC_BASE, startQuery, type TestQuery, type TestWorkspace, withScopes } from '../test-query.js';

let query: TestQuery;
let workspace: TestWorkspace;

beforeAll(async () => {
  query = await startQuery();
  workspace = await aWorkspace(query);
});
afterAll(() => query.close());

test.each([
  ['limit=0', 422],
  ['limit=-1', 422],
  ['limit=1001', 422],
  ['limit=abc', 400],
  ['limit=', 400],
  ['page=0', 422],
  ['page=9007199254740992', 422],
  ['page=1.5', 400],
  ['event=click', 422],
  ['event=', 422],
  ['interval=2w', 422],
  ['sortBy=id', 422],
  ['sortOrder=up', 422],
  ['order=up', 422],
  ['root=yes', 400],
  ['saleType=old', 422],
  ['continent=XX', 422],
  ['trigger=email', 422],
  ['start=soon', 422],
  ['start=1772600000', 422],
  ['key=try', 400],
  ['zone=Nowhere', 422],
  [`city=${'a,'.repeat(1001)}`, 422],
  [`query=${encodeURIComponent("metadata['a']=='b'")}`, 422],
  [`query=${'x'.repeat(10_001)}`, 422],
])('GET /events?%.40s gives %i with the name of the parameter', async (parameters, status) => {
  const answer = await workspace.events(parameters);
  const code = status === 400 ? 'bad_request' : 'unprocessable_entity';
  expect(answer).toMatchObject({ status, body: { error: { code } } });
  expect(answer.body.error.message).toContain(`: ${parameters.split('=')[0]}: `);
  expect(answer.body.error.doc_url).toBe(`${DOC_BASE}/api-reference/errors#${code.replaceAll('_', '-')}`);
});

test.each(['timezone=Nowhere/Land', 'city=', 'country=-', 'workspaceId=ws_other', 'root=TRUE', 'tagId=,,'])(
  'GET /events?%s is fine',
  async (parameters) => {
    expect((await workspace.events(parameters)).status).toBe(200);
  },
);

test('a filter of 10,000 characters in any script is accepted', async () => {
  expect((await workspace.events({ city: '東'.repeat(10_000) })).status).toBe(200);
  expect((await workspace.events({ city: "\\'".repeat(5_000) })).status).toBe(200);
});

test('a list may have 64,000 characters: a thousand long ids', async () => {
  const ids = Array.from({ length: 1000 }, (_, index) => String(index).padStart(63, 'x')).join(',');
  expect((await workspace.events({ tenantId: `${ids}y` })).status).toBe(200);
  const answer = await workspace.events({ tenantId: `${ids}yy` });
  expect(answer).toMatchObject({ status: 422, body: { error: { message: expect.stringContaining('tenantId') } } });
});

describe('access', () => {
  test('a plan below Business is refused before its parameters are validated', async () => {
    const pro = await aWorkspace(query, 'pro');
    expect(await pro.events('limit=abc')).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
    expect((await (await aWorkspace(query, 'business')).events()).status).toBe(200);
  });

  test('a key needs the scope analytics.read', async () => {
    const answer = await (await withScopes(workspace, ['links.read'])).events();
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
    expect(answer.body.error.message).toContain('analytics.read');
    expect((await (await withScopes(workspace, ['apis.read'])).events()).status).toBe(200);
  });

  test('a request without a key gives 401, and responses have rate limit headers', async () => {
    expect((await query.app.inject('/events')).statusCode).toBe(401);
    const fresh = await aWorkspace(query, 'business');
    await query.catalog.workspaces.update(fresh.id, { analyticsPerSecond: null });
    const { headers } = await fresh.events();
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '4', 'x-ratelimit-remaining': '3' });
  });
});
