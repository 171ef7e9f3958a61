import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Link, Webhook } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

/** `webhookIds` of links and `linkIds` of webhooks are two views of the same relation. */

const domain = 'go.acme.example';
let api: WholeApi;
let token: string;
let next = 0;

interface Hook {
  readonly id: string;
  /** The path at which the receiver gets its deliveries. */
  readonly path: string;
}
let received: { readonly path: string; readonly linkId: string }[] = [];
const receiver = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  request.on('end', () => {
    received.push({ path: request.url ?? '', linkId: JSON.parse(text).data.link.id });
    response.end();
  });
});

beforeAll(async () => {
  api = await startWholeApi();
  const workspace = { name: 'Acme', slug: 'acme', plan: 'enterprise', domain } as const;
  token = (await api.catalog.workspaces.create(workspace)).apiKey.token;
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  api.startWriter();
});
afterAll(async () => {
  await api.close();
  receiver.close();
});

async function call<T>(method: string, path: string, body?: unknown): Promise<{ status: number; body: T }> {
  const answer = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as T };
}

/** Creates a webhook for clicks. */
async function aHook(fields: object): Promise<Hook> {
  const path = `/hook-${next++}`;
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;
  const { status, body } = await call<Webhook>('POST', '/webhooks', {
    ...{ name: 'Clicks', url, triggers: ['link.clicked'] },
    ...fields,
  });
  expect(status).toBe(201);
  return { id: body.id, path };
}

async function aLink(fields: object = {}): Promise<Link> {
  const { status, body } = await call<Link>('POST', '/links', { url: 'https://acme.com', ...fields });
  expect(status).toBe(200);
  return body;
}

const webhookIdsOf = async ({ id }: Link) => (await call<Link>('GET', `/links/${id}`)).body.webhookIds;

/** Visits each link, and expects that `hook` receives the clicks of `expected`, and `witness` the clicks of all. */
async function expectReceived(
  hook: Hook,
  expected: readonly Link[],
  witness: Hook,
  links: readonly Link[],
): Promise<void> {
  received = [];
  const receivedBy = ({ path }: Hook) => received.filter((one) => one.path === path).map(({ linkId }) => linkId);
  for (const { key } of links) expect(await api.visit(domain, key)).toBe(302);
  const isReceived = () => receivedBy(witness).length === links.length && receivedBy(hook).length >= expected.length;
  await waitFor(isReceived, { what: 'the events of the clicks' });
  expect(receivedBy(hook).sort()).toEqual(expected.map(({ id }) => id).sort());
}

it('a webhook gets the clicks of its links, whether they are set on the link or on the webhook', async () => {
  const witness = await aHook({ linkScope: 'workspace' });
  const hook = await aHook({ linkScope: 'links' });
  const [named, other] = [await aLink({ webhookIds: [hook.id, hook.id] }), await aLink()];
  expect([named.webhookIds, other.webhookIds]).toEqual([[hook.id], []]);
  await expectReceived(hook, [named], witness, [other, named]);

  await call('PATCH', `/webhooks/${hook.id}`, { linkIds: [other.id] });
  expect([await webhookIdsOf(named), await webhookIdsOf(other)]).toEqual([[], [hook.id]]);
  await expectReceived(hook, [other], witness, [named, other]);

  await call('PATCH', `/links/${other.id}`, { webhookIds: null });
  await call('PATCH', `/links/${named.id}`, { webhookIds: [hook.id] });
  await expectReceived(hook, [named], witness, [other, named]);
});

it('a webhook for folders also gets the clicks of links outside them that list it', async () => {
  const witness = await aHook({ linkScope: 'workspace' });
  const folder = (await call<{ id: string }>('POST', '/folders', { name: 'Launch' })).body;
  const hook = await aHook({ linkScope: 'folders', folderIds: [folder.id] });
  const [outside, inside] = [await aLink(), await aLink({ folderId: folder.id })];
  const named = await aLink({ webhookIds: [hook.id] });
  await expectReceived(hook, [inside, named], witness, [outside, inside, named]);
});

it('unknown webhooks answer 422; webhooks that are deleted or change their scope are removed from links', async () => {
  const unknown = await call<{ error: { message: string } }>('POST', '/links', {
    url: 'https://acme.com',
    webhookIds: ['wh_00000000000'],
  });
  expect([unknown.status, unknown.body.error.message]).toEqual([
    422,
    'invalid_value: webhookIds: unknown webhooks: wh_00000000000',
  ]);
  const [removed, rescoped] = [await aHook({ linkScope: 'links' }), await aHook({ linkScope: 'links' })];
  const link = await aLink({ webhookIds: [removed.id, rescoped.id] });
  await call('PATCH', `/webhooks/${rescoped.id}`, { linkScope: 'workspace' });
  expect(await webhookIdsOf(link)).toEqual([removed.id]);
  await call('DELETE', `/webhooks/${removed.id}`);
  expect(await webhookIdsOf(link)).toEqual([]);
});
