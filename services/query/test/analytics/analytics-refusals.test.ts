import type { ErrorBody } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, DOC_BASE, startQuery, type TestQuery, type TestWorkspace, withScopes } from '../test-query.js';
import { clicked, zeros } from './analytics-world.js';

let query: TestQuery;
let workspace: TestWorkspace;

beforeAll(async () => {
  query = await startQuery();
  workspace = await aWorkspace(query);
});
afterAll(() => query.close());

test.each([
  ['event=click', 422],
  ['event=', 422],
  ['groupBy=none', 422],
  ['groupBy=', 422],
  ['groupBy=link', 422],
  ['interval=2w', 422],
  ['root=yes', 400],
  ['saleType=old', 422],
  ['continent=XX', 422],
  ['trigger=email', 422],
  ['start=soon', 422],
  ['key=try', 400],
  [`city=${'a,'.repeat(1001)}`, 422],
  [`query=${'x'.repeat(10_001)}`, 422],
])('GET /analytics?%.40s gives %i with the name of the parameter', async (parameters, status) => {
  const answer = await workspace.analytics(parameters);
  const code = status === 400 ? 'bad_request' : 'unprocessable_entity';
  expect(answer).toMatchObject({ status, body: { error: { code } } });
  const { error } = answer.body as ErrorBody;
  expect(error.message).toContain(`: ${parameters.split('=')[0]}: `);
  expect(error.doc_url).toBe(`${DOC_BASE}/api-reference/errors#${code.replaceAll('_', '-')}`);
});

test('a time series of more than 5000 months is refused', async () => {
  const parameters = { groupBy: 'timeseries', start: '0001-01-01', end: '9999-12-31' };
  expect(await workspace.analytics(parameters)).toMatchObject({
    status: 422,
    body: { error: { code: 'unprocessable_entity', message: expect.stringMatching(/^too_big: start: /) } },
  });
});

test.each(['timezone=Nowhere/Land', 'city=', 'projectSlug=acme', '_=1'])(
  'GET /analytics?%s is fine',
  async (parameters) => {
    expect(await workspace.analytics(parameters)).toMatchObject({ status: 200, body: zeros });
  },
);

test.each(['zone=Nowhere', 'limit=5', 'page=1', 'sortBy=timestamp', 'order=asc'])(
  'GET /analytics?%s is refused: that is no parameter of it',
  async (parameters) => {
    const { status, body } = await workspace.analytics(parameters);
    expect(status).toBe(422);
    expect((body as ErrorBody).error.message).toMatch(/^unrecognized_keys: \w+: is not a parameter of this request/);
  },
);

describe('access', () => {
  test('a plan below Pro is refused before its parameters are validated', async () => {
    const free = await aWorkspace(query, 'free');
    expect(await free.analytics('event=x')).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
    expect((await (await aWorkspace(query, 'pro')).analytics()).status).toBe(200);
  });

  test('a key needs the scope analytics.read', async () => {
    const answer = await (await withScopes(workspace, ['links.read'])).analytics();
    expect(answer).toMatchObject({
      status: 403,
      body: { error: { message: expect.stringContaining('analytics.read') } },
    });
    expect((await (await withScopes(workspace, ['analytics.read'])).analytics()).status).toBe(200);
  });

  test('a request without a key gives 401, and the rate limit is shared with GET /events', async () => {
    expect((await query.app.inject('/analytics')).statusCode).toBe(401);
    const fresh = await aWorkspace(query, 'business');
    await query.catalog.workspaces.update(fresh.id, { analyticsPerSecond: 3 });
    await fresh.analytics();
    const { headers } = await fresh.events();
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '1' });
  });

  test('ranges longer than the plan allows are refused', async () => {
    const pro = await aWorkspace(query, 'pro');
    expect(await pro.analytics({ start: '2025-11-19' })).toMatchObject({ status: 403 });
    expect(await pro.analytics({ interval: '1y' })).toMatchObject({ status: 200 });
    expect(await workspace.analytics({ start: '2020-01-01' })).toMatchObject({ status: 200 });
  });

  test('a program of another workspace is refused', async () => {
    const other = await aWorkspace(query);
    const [own, foreign] = ['prog_00000000001', 'prog_00000000002'];
    expect(await other.analytics({ programId: own! })).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden' } },
    });
    await query.catalog.workspaces.update(other.id, { defaultProgramId: own! });
    const [inside, outside] = [await other.aLink({ key: 'in', programId: own! }), await other.aLink({ key: 'out' })];
    await other.store({ clicks: [other.click(inside, 1), other.click(outside, 1)] });
    expect(await other.analytics({ programId: own! })).toMatchObject({ status: 200, body: clicked(1) });
    expect(await other.analytics({ programId: foreign! })).toMatchObject({ status: 403 });
  });

  test('another workspace has no access, even by id', async () => {
    const other = await aWorkspace(query);
    const link = await other.aLink({ key: 'a', externalId: 'mine' });
    await other.store({ clicks: [other.click(link, 1)] });
    for (const groupBy of ['count', 'top_links', 'timeseries', 'top_domains']) {
      const { body } = await workspace.analytics({ groupBy, linkId: link.id, interval: 'all' });
      expect(JSON.stringify(body), groupBy).not.toMatch(/"clicks":[1-9]/);
    }
    expect((await workspace.analytics({ externalId: 'ext_mine' })).status).toBe(404);
    expect((await workspace.analytics({ domain: other.host, key: 'a' })).status).toBe(404);
    expect((await workspace.analytics({ folderId: 'fold_00000000001' })).status).toBe(404);
  });
});
