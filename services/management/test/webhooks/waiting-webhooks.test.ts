import { afterAll, beforeAll, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let caller: Caller;
let other: Caller;
let linkId: string;

beforeAll(async () => {
  management = await startManagement();
  [caller, other] = [await aCaller(management), await aCaller(management)];
  for (const { workspaceId } of [caller, other]) {
    await management.catalog.webhooks.create(workspaceId, {
      ...{ name: 'Hook', url: 'https://hooks.example/' },
      triggers: ['link.created', 'link.updated', 'link.deleted', 'partner.enrolled'],
    });
  }
  const body = { url: 'https://acme.com/', domain: caller.host, comments: 'first' };
  ({ id: linkId } = (await caller.post(body)).body);
  // As `waiting-changes.test.ts` shows, deliveries are counted here.
  await management.redis.hset(`{waymark}:state:webhook-bodies:${caller.workspaceId}`, 'sum', 32_000_000);
});
afterAll(() => management.close());

const countLinks = async () => (await caller.get('/links/count')).body;
const listPartners = async () => (await caller.get('/partners')).body;

it('a workspace with 32 MB of webhooks that wait gets 429 for changes that would send more, and nothing is changed', async () => {
  const before = await Promise.all([countLinks(), listPartners()]);
  const aLink = { url: 'https://acme.com/new', domain: caller.host };
  for (const [method, path, body] of [
    ['POST', '/links', aLink],
    ['PUT', '/links/upsert', aLink],
    ['PUT', '/links/upsert', { ...aLink, url: 'https://acme.com/', comments: 'upserted' }],
    ['PATCH', `/links/${linkId}`, { comments: 'changed' }],
    ['DELETE', `/links/${linkId}`, undefined],
    ['POST', '/partners', { name: 'Ada', email: 'ada@example.com' }],
  ] as const) {
    const answer = await caller.call(method, path, body);
    expect([method, path, answer.status]).toEqual([method, path, 429]);
    expect(answer.body.error.code).toBe('rate_limit_exceeded');
  }
  expect(await Promise.all([countLinks(), listPartners()])).toEqual(before);
  expect((await caller.get(`/links/${linkId}`)).body.comments).toBe('first');
});

it('the refusal says when to try again', async () => {
  const headers = { authorization: `Bearer ${caller.token}` };
  const answer = await management.app.inject({ method: 'DELETE', url: `/links/${linkId}`, headers });
  expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '10']);
});

it('bulk requests, which send nothing, and other workspaces are accepted', async () => {
  const bulk = await caller.call('PATCH', '/links/bulk', { linkIds: [linkId], data: { title: 'In bulk' } });
  expect(bulk.status).toBe(200);
  expect((await other.post({ url: 'https://acme.com/', domain: other.host })).status).toBe(200);
});
