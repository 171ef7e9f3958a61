import {
  type CreateWebhookBody,
  type Folder,
  HIDDEN_SECRET,
  type Role,
  type Scope,
  type Webhook,
  webhookSchema,
} from '@waymark/contract';
import { stoppingClient } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createWebhook } from '../../src/webhooks/webhooks.js';
import {
  type Answer,
  aCaller,
  type Caller,
  startManagement,
  statusesOf,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let next = 0;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];
const aBody = (fields: object = {}) => ({
  name: 'Orders',
  url: `https://hooks.acme.com/${next++}`,
  triggers: ['link.created'],
  ...fields,
});
/** The body for a webhook of the clicks of a link. */
const clicksOf = (link: string): CreateWebhookBody => ({
  ...{ name: 'Clicks', url: `https://hooks.acme.com/${next++}` },
  ...{ triggers: ['link.clicked'], linkScope: 'links', linkIds: [link] },
});
const create = (caller: Caller, body: unknown) => caller.call<Webhook>('POST', '/webhooks', body);

async function aLink(): Promise<string> {
  const link = { domain: acme.host, url: 'https://acme.com' };
  return (await management.catalog.links.create(acme.workspaceId, link)).id;
}
/** A process of its own that stops at a statement; it is killed there at the end of the test at the latest. */
function aProcess(at: string) {
  const process = stoppingClient(management.database.client, { statement: (text) => text === at });
  onTestFinished(process.kill);
  return { ...process, catalog: management.anotherCatalog(process.client) };
}
/** The next attachment of a webhook fails. */
function attachNone() {
  const attach = () => Promise.reject(new TypeError('away'));
  vi.spyOn(management.catalog.webhooks, 'changeLinks').mockImplementationOnce((_workspaceId, _id, work) =>
    work(attach),
  );
}
const webhookIdsOf = async (id: string) => (await management.catalog.links.get(acme.workspaceId, id))?.webhookIds;

describe('POST /webhooks', () => {
  it('answers 201 with the webhook and its secret, which stays readable', async () => {
    const { status, body } = await create(acme, aBody({ triggers: ['lead.created', 'lead.created'] }));
    expect(status).toBe(201);
    expect(webhookSchema.parse(body)).toMatchObject({ triggers: ['lead.created'], linkScope: null, disabledAt: null });
    expect(body.secret).toMatch(/^whsec_[0-9a-f]{32}$/);
    expect((await acme.call('GET', `/webhooks/${body.id}`)).body).toEqual(body);
  });

  it.each([
    ['no triggers', { triggers: undefined }, 400],
    ['an empty list of triggers', { triggers: [] }, 422],
    ['an unknown trigger', { triggers: ['link.looked-at'] }, 422],
    ['a name of 41 characters', { name: 'x'.repeat(41) }, 422],
    ['a URL of another scheme', { url: 'ftp://acme.com' }, 422],
    ['a URL of Slack, which refuses events', { url: 'https://hooks.slack.com/services/T0/B0/x' }, 422],
    ['a URL of Segment, which refuses events', { url: 'https://API.segment.io:443/v1/track' }, 422],
    ['one of these with the dot of the root', { url: 'https://hooks.slack.com./services/T0/B0/x' }, 422],
    ['clicks without a scope', { triggers: ['link.clicked'] }, 422],
    ['a scope without clicks', { linkScope: 'workspace' }, 422],
    ['links without their scope', { triggers: ['link.clicked'], linkScope: 'workspace', linkIds: ['x'] }, 422],
    ['folders without their scope', { triggers: ['link.clicked'], linkScope: 'links', folderIds: ['x'] }, 422],
    ['unknown links', { triggers: ['link.clicked'], linkScope: 'links', linkIds: ['link_zzzzzzzzzzz'] }, 400],
    ['unknown folders', { triggers: ['link.clicked'], linkScope: 'folders', folderIds: ['nonsense'] }, 400],
    ['1001 links', { triggers: ['link.clicked'], linkScope: 'links', linkIds: Array(1001).fill('x') }, 422],
  ])('%s answers %i', async (_what, fields, status) => {
    expect((await create(acme, aBody(fields))).status).toBe(status);
  });

  it('succeeds for one of 60 concurrent requests with one URL; another workspace may use it as well', async () => {
    const body = aBody();
    expect(await statusesOf(60, () => create(acme, body))).toEqual({ 201: 1, 409: 59 });
    expect((await create(await aCaller(management), body)).status).toBe(201);
  });
});

it('a workspace has at most a hundred webhooks', async () => {
  const caller = await aCaller(management);
  // At once, so that they share statements; the last one alone.
  expect(await statusesOf(99, () => create(caller, aBody()))).toEqual({ 201: 99 });
  expect((await create(caller, aBody())).status).toBe(201);
  expect((await create(caller, aBody())).status).toBe(403);
  expect((await create(acme, aBody())).status).toBe(201);
});

describe('links of a webhook', () => {
  it('show the webhook in webhookIds exactly while they are attached', async () => {
    const [one, two] = [await aLink(), await aLink()];
    const scope = { triggers: ['link.clicked'], linkScope: 'links' };
    const { body: webhook } = await create(acme, aBody({ ...scope, linkIds: [one, one] }));
    expect([await webhookIdsOf(one), await webhookIdsOf(two)]).toEqual([[webhook.id], []]);
    await acme.call('PATCH', `/webhooks/${webhook.id}`, { linkIds: [two] });
    expect([await webhookIdsOf(one), await webhookIdsOf(two)]).toEqual([[], [webhook.id]]);
    await acme.call('DELETE', `/webhooks/${webhook.id}`);
    expect(await webhookIdsOf(two)).toEqual([]);
  });

  it.each(['INSERT INTO links', 'INSERT INTO webhooks'])(
    'are attached by a repeated request if the process that creates the webhook is killed at %s',
    async (statement) => {
      const link = await aLink();
      const body = clicksOf(link);
      const process = aProcess(statement);
      const creating = createWebhook(process.catalog, acme.workspaceId, body);
      creating.catch(() => undefined);
      await process.stopped;
      // The locks of a killed process expire.
      await management.redis.del(await management.redis.keys('waymark:lock:*'));
      const { status, body: webhook } = await create(acme, body);
      expect([status, await webhookIdsOf(link)]).toEqual([201, expect.arrayContaining([webhook.id])]);
      process.kill();
      await expect(creating).rejects.toThrow();
      // A change of the link removes the id of the webhook that does not exist.
      await acme.call('PATCH', `/links/${link}`, { comments: 'changed' });
      expect(await webhookIdsOf(link)).toEqual([webhook.id]);
    },
  );

  it('stay attached to a new webhook that was stored after a change of a link had looked it up', async () => {
    const link = await aLink();
    const { body: webhook } = await create(acme, clicksOf(link));
    const { webhooks } = management.catalog;
    const { getMany } = webhooks;
    // The first look-up checks the request, the second is made after the change is stored.
    const lookUp = vi.spyOn(webhooks, 'getMany').mockImplementationOnce(getMany).mockResolvedValueOnce(new Map());
    expect((await acme.call('PATCH', `/links/${link}`, { comments: 'changed' })).status).toBe(200);
    expect([lookUp.mock.calls.length, await webhookIdsOf(link)]).toEqual([3, [webhook.id]]);
    lookUp.mockRestore();
  });

  it('stay attached to a new webhook if they are changed while it is created', async () => {
    const link = await aLink();
    const process = aProcess('INSERT INTO webhooks');
    const creating = createWebhook(process.catalog, acme.workspaceId, clicksOf(link));
    await process.stopped;
    await acme.call('PATCH', `/links/${link}`, { comments: 'changed' });
    process.go();
    const { id } = await creating;
    expect(await webhookIdsOf(link)).toEqual([id]);
  });

  it.each([{ linkScope: 'workspace' }, { linkScope: 'folders', folderIds: [] }, { triggers: ['lead.created'] }])(
    'are detached by a repeated request if those of a webhook of before could not be detached: %j',
    async (change) => {
      const [link, named] = [await aLink(), await aLink()];
      const fields = { triggers: ['link.clicked', 'lead.created'], linkScope: 'links', linkIds: [link] };
      const { body: webhook } = await create(acme, aBody(fields));
      const update = () => acme.call<Webhook>('PATCH', `/webhooks/${webhook.id}`, change);
      attachNone();
      expect((await update()).status).toBe(500);
      expect((await update()).status).toBe(200);
      expect(await webhookIdsOf(link)).toEqual([]);
      // Links that name the webhook later stay.
      await acme.call('PATCH', `/links/${named}`, { webhookIds: [webhook.id] });
      expect((await update()).status).toBe(200);
      expect(await webhookIdsOf(named)).toEqual([webhook.id]);
    },
  );

  it('are not detached by a change of the name if the detaching was not noted as done', async () => {
    const [link, named] = [await aLink(), await aLink()];
    const fields = { triggers: ['link.clicked'], linkScope: 'links', linkIds: [link] };
    const { body: webhook } = await create(acme, aBody(fields));
    const update = (change: object) => acme.call<Webhook>('PATCH', `/webhooks/${webhook.id}`, change);
    const { webhooks } = management.catalog;
    const { update: store } = webhooks;
    vi.spyOn(webhooks, 'update').mockImplementationOnce(store).mockRejectedValueOnce(new TypeError('away'));
    expect((await update({ linkScope: 'workspace' })).status).toBe(500);
    expect(await webhookIdsOf(link)).toEqual([]);
    await acme.call('PATCH', `/links/${named}`, { webhookIds: [webhook.id] });
    expect((await update({ name: 'Renamed' })).status).toBe(200);
    expect(await webhookIdsOf(named)).toEqual([webhook.id]);
  });
});

describe('GET, PATCH and DELETE', () => {
  it('lists newest first; supports other orders and search', async () => {
    const caller = await aCaller(management);
    for (const name of ['beta', 'Alpha']) await create(caller, aBody({ name }));
    const names = async (query: string) =>
      (await caller.call<Webhook[]>('GET', `/webhooks${query}`)).body.map(({ name }) => name);
    expect(await names('')).toEqual(['Alpha', 'beta']);
    expect(await names('?sortOrder=asc')).toEqual(['beta', 'Alpha']);
    expect(await names('?sortBy=name&sortOrder=asc')).toEqual(['Alpha', 'beta']);
    expect(await names('?search=ALPH')).toEqual(['Alpha']);
  });

  it('an update keeps the secret and absent fields; another scope clears links and folders', async () => {
    const { body: folder } = await acme.call<Folder>('POST', '/folders', { name: 'Told' });
    const fields = { triggers: ['link.clicked'], linkScope: 'folders', folderIds: [folder.id] };
    const { body: webhook } = await create(acme, aBody(fields));
    const update = (body: unknown) => acme.call<Webhook>('PATCH', `/webhooks/${webhook.id}`, body);
    expect((await update({ name: 'Renamed' })).body).toEqual({ ...webhook, name: 'Renamed' });
    expect((await update({ linkScope: 'workspace' })).body.linkScope).toBe('workspace');
    const record = await management.catalog.webhooks.get(acme.workspaceId, webhook.id);
    expect(record?.folderIds).toEqual([]);
    const withScope = { triggers: ['sale.created'], linkScope: 'workspace' };
    expect(codeOf(await update(withScope))).toEqual([422, 'unprocessable_entity']);
    expect((await update({ triggers: ['sale.created'], linkScope: null })).status).toBe(200);
    expect((await update({ disabled: true })).body.disabledAt).not.toBeNull();
    expect((await update({ disabled: false })).body.disabledAt).toBeNull();
  });

  it('triggers without link.clicked end the scope, with its links and folders; with it they need one', async () => {
    const [{ body: folder }, link] = [await acme.call<Folder>('POST', '/folders', { name: 'Ended' }), await aLink()];
    for (const scope of [
      { linkScope: 'links', linkIds: [link] },
      { linkScope: 'folders', folderIds: [folder.id] },
    ]) {
      const { body: webhook } = await create(acme, aBody({ triggers: ['link.clicked', 'lead.created'], ...scope }));
      const update = (body: unknown) => acme.call<Webhook>('PATCH', `/webhooks/${webhook.id}`, body);
      const { status, body } = await update({ triggers: ['lead.created'] });
      expect([status, body]).toEqual([200, { ...webhook, triggers: ['lead.created'], linkScope: null }]);
      const record = await management.catalog.webhooks.get(acme.workspaceId, webhook.id);
      expect(record?.folderIds).toEqual([]);
      expect(codeOf(await update({ triggers: ['link.clicked'] }))).toEqual([422, 'unprocessable_entity']);
    }
    expect(await webhookIdsOf(link)).toEqual([]);
  });

  it.each(['https://hooks.slack.com/x', 'https://api.segment.io/x'])(
    'a change of the URL to %s answers 422',
    async (url) => {
      const { body: webhook } = await create(acme, aBody());
      const { status } = await acme.call('PATCH', `/webhooks/${webhook.id}`, { url });
      expect([status, (await acme.call('GET', `/webhooks/${webhook.id}`)).body]).toEqual([422, webhook]);
    },
  );

  it('a URL in use answers 409; other workspaces find nothing', async () => {
    const [{ body: one }, { body: two }] = [await create(acme, aBody()), await create(acme, aBody())];
    expect(codeOf(await acme.call('PATCH', `/webhooks/${one.id}`, { url: two.url }))).toEqual([409, 'conflict']);
    const stranger = await aCaller(management);
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? {} : undefined;
      expect(codeOf(await stranger.call(method, `/webhooks/${one.id}`, body))).toEqual([404, 'not_found']);
    }
  });
});

describe('permissions', () => {
  it('need the plan business and the permission, which apis.all does not include; members can only read', async () => {
    const pro = await aCaller(management, 'pro');
    expect(codeOf(await pro.call('GET', '/webhooks'))).toEqual([403, 'forbidden']);
    const [all, member] = await Promise.all([
      withKey(management, acme, 'owner', ['apis.all']),
      withKey(management, acme, 'member', ['webhooks.read']),
    ]);
    expect((await all.call('GET', '/webhooks')).status).toBe(403);
    expect((await member.call('GET', '/webhooks')).status).toBe(200);
    expect((await create(member, aBody())).status).toBe(403);
  });

  it('shows the signing secret only to keys that may change webhooks', async () => {
    const { body: webhook } = await create(acme, aBody());
    const secretFor = async (...[role, scopes]: [Role, Scope[]]) => {
      const caller = await withKey(management, acme, role, scopes);
      const { body: listed } = await caller.call<Webhook[]>('GET', '/webhooks');
      const { body: single } = await caller.call<Webhook>('GET', `/webhooks/${webhook.id}`);
      return [single.secret, listed.find(({ id }) => id === webhook.id)?.secret];
    };
    expect(await secretFor('owner', [])).toEqual([webhook.secret, webhook.secret]);
    expect(await secretFor('owner', ['webhooks.write'])).toEqual([webhook.secret, webhook.secret]);
    expect(await secretFor('owner', ['webhooks.read'])).toEqual([HIDDEN_SECRET, HIDDEN_SECRET]);
    for (const role of ['member', 'viewer', 'billing'] as const) {
      expect(await secretFor(role, []), role).toEqual([HIDDEN_SECRET, HIDDEN_SECRET]);
    }
  });
});
