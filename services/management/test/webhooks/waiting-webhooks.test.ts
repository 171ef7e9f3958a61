import { randomUUID } from 'node:crypto';
import { type Link, type Partner, parseResourceId } from '@waymark/contract';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let caller: Caller;
let other: Caller;
let linkId: string;
let hookId: string;
let partnerId: string;

const waitingKey = () => `{waymark}:state:webhook-bodies:${caller.workspaceId}`;
/** Counts deliveries of a webhook, as `waiting-changes.test.ts` shows. */
async function alreadyWait(webhookId: string): Promise<void> {
  const number = parseResourceId('webhook', webhookId);
  const job = { [`${number}-a`]: '32000000 1000', sum: 32_000_000, [`sum:${number}-`]: 32_000_000 };
  await management.redis.hset(waitingKey(), job);
  // The job is queued.
  await management.redis.hset(`{waymark}:webhook:${number}-a`, 'data', '{}');
}
const aHook = ({ workspaceId }: Caller) =>
  management.catalog.webhooks.create(workspaceId, {
    ...{ name: 'Hook', url: `https://hooks.example/${randomUUID()}` },
    triggers: ['link.created', 'link.updated', 'link.deleted', 'partner.enrolled'],
  });

beforeAll(async () => {
  management = await startManagement();
  [caller, other] = [await aCaller(management), await aCaller(management)];
  await aHook(other);
  const body = { url: 'https://acme.com/', domain: caller.host, comments: 'first' };
  ({ id: linkId } = (await caller.post(body)).body);
  const partner = { name: 'Bob', email: 'bob@example.com' };
  ({ id: partnerId } = (await caller.call<Partner>('POST', '/partners', partner)).body);
  const aLink = { partnerId, url: 'https://acme.com/partner', comments: 'first' };
  expect((await caller.call('POST', '/partners/links', aLink)).status).toBe(201);
});
beforeEach(async () => {
  ({ id: hookId } = await aHook(caller));
  await alreadyWait(hookId);
});
afterEach(async () => {
  await management.redis.del(waitingKey());
  for (const { id } of await management.catalog.webhooks.active(caller.workspaceId)) {
    await management.catalog.webhooks.remove(caller.workspaceId, id);
  }
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
    ['POST', '/partners', { name: 'Ada', email: 'ada@example.com' }],
    ['POST', '/partners/links', { partnerId, url: 'https://acme.com/new' }],
    ['PUT', '/partners/links/upsert', { partnerId, url: 'https://acme.com/new' }],
    ['PUT', '/partners/links/upsert', { partnerId, url: 'https://acme.com/partner', comments: 'upserted' }],
    ['POST', '/partners/applications/approve', { partnerId: 'pn_00000000001' }],
  ] as const) {
    const answer = await caller.call(method, path, body);
    expect([method, path, answer.status]).toEqual([method, path, 429]);
    expect(answer.body.error.code).toBe('rate_limit_exceeded');
  }
  expect(await Promise.all([countLinks(), listPartners()])).toEqual(before);
  const { body: links } = await caller.get<Link[]>('/links');
  expect(links.filter(({ comments }) => comments === 'first')).toHaveLength(2);
});

it('the refusal says when to try again', async () => {
  const headers = { authorization: `Bearer ${caller.token}` };
  const answer = await management.app.inject({
    method: 'PATCH',
    url: `/links/${linkId}`,
    headers,
    payload: { comments: 'x' },
  });
  expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '10']);
});

it('a link is removed also then, and its webhook is queued', async () => {
  const links = [{ url: 'https://acme.com/', domain: caller.host }];
  const [link] = (await caller.call<Link[]>('POST', '/links/bulk', links)).body;
  const queued = async () => (await management.redis.keys('{waymark}:webhook:*-evt_*')).length;
  const before = await queued();
  expect((await caller.call('DELETE', `/links/${link?.id}`)).status).toBe(200);
  expect(await queued()).toBe(before + 1);
});

it.each([
  ['disabled', 'PATCH', { disabled: true }],
  ['deleted', 'DELETE', undefined],
] as const)(
  'when the webhook is %s, changes are accepted at once, also those that another webhook gets',
  async (_what, method, body) => {
    const { id } = await aHook(caller);
    const number = parseResourceId('webhook', id);
    await management.redis.hset(waitingKey(), `sum:${number}-`, 1_000_000);
    await management.redis.hincrby(waitingKey(), 'sum', 1_000_000);
    const create = async () => (await caller.post({ url: 'https://acme.com/', domain: caller.host })).status;
    expect(await create()).toBe(429);
    expect((await caller.call(method, `/webhooks/${hookId}`, body)).status).toBe(200);
    expect(await create()).toBe(200);
  },
);

it('a repeated removal of a webhook discards its waiting deliveries, if the first one was interrupted', async () => {
  await management.catalog.webhooks.remove(caller.workspaceId, hookId);
  expect((await caller.call('DELETE', `/webhooks/${hookId}`)).status).toBe(404);
  expect(await management.redis.exists(waitingKey())).toBe(0);
});

it('bulk requests, which send nothing, and other workspaces are accepted', async () => {
  const bulk = await caller.call('PATCH', '/links/bulk', { linkIds: [linkId], data: { title: 'In bulk' } });
  expect(bulk.status).toBe(200);
  expect((await other.post({ url: 'https://acme.com/', domain: other.host })).status).toBe(200);
});
