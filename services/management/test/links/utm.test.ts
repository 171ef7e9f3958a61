import { parseResourceId, UTM_TEMPLATE_FIELDS, type UtmTemplate, utmTemplateSchema } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
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

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];
const create = (caller: Caller, body: unknown) => caller.call<UtmTemplate>('POST', '/utm', body);
const names = async (caller: Caller, query = '') =>
  (await caller.get<UtmTemplate[]>(`/utm${query}`)).body.map(({ name }) => name);

const VALUES = {
  utm_source: 'news',
  utm_medium: 'email',
  utm_campaign: 'spring',
  utm_term: 'shoes',
  utm_content: 'top',
  ref: 'acme',
};

it('a template stores its name and six values, trimmed; blank or absent values become null', async () => {
  const { status, body } = await create(acme, { name: ' Mail ', ...VALUES, utm_source: ' news ' });
  const { id, createdAt, updatedAt } = utmTemplateSchema.parse(body);
  expect([status, body]).toEqual([201, { id, name: 'Mail', ...VALUES, createdAt, updatedAt }]);
  expect((await acme.get<UtmTemplate>(`/utm/${id}`)).body).toEqual(body);
  const { body: bare } = await create(acme, { name: 'Bare', utm_term: ' ', ref: null });
  expect(UTM_TEMPLATE_FIELDS.map((field) => bare[field])).toEqual([null, null, null, null, null, null]);
});

it('a workspace has up to 1000 templates', async () => {
  const full = await aCaller(management);
  await create(full, { name: 'First' });
  // 998 more, which differ in their ids only.
  await management.database.client.command({
    query: `INSERT INTO utm_templates SELECT t.* REPLACE (t.id + number + 1 AS id) FROM utm_templates AS t, numbers(998) AS n
      WHERE workspace_id = {workspace:UInt64}`,
    query_params: { workspace: parseResourceId('workspace', full.workspaceId) },
  });
  expect((await create(full, { name: 'Last' })).status).toBe(201);
  expect(codeOf(await create(full, { name: 'One more' }))).toEqual([403, 'forbidden']);
});

it('an update keeps absent fields, and null clears', async () => {
  const { body: template } = await create(acme, { name: 'Before', ...VALUES });
  const path = `/utm/${template.id}`;
  const { body } = await acme.call<UtmTemplate>('PATCH', path, { name: 'After', ref: null, utm_term: 'boots' });
  expect(body).toEqual({ ...template, name: 'After', ref: null, utm_term: 'boots', updatedAt: body.updatedAt });
  expect((await acme.get<UtmTemplate>(path)).body).toEqual(body);
  expect(await acme.call('DELETE', path)).toEqual({ status: 200, body: { id: template.id } });
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    expect(codeOf(await acme.call(method, path, method === 'PATCH' ? {} : undefined))).toEqual([404, 'not_found']);
  }
});

it('a list is sorted by name, and supports search and pages', async () => {
  const caller = await aCaller(management);
  for (const name of ['beta', 'Alpha', 'gamma']) await create(caller, { name });
  expect(await names(caller)).toEqual(['Alpha', 'beta', 'gamma']);
  expect(await names(caller, '?sortBy=createdAt&sortOrder=desc')).toEqual(['gamma', 'Alpha', 'beta']);
  expect(await names(caller, '?search=MA')).toEqual(['gamma']);
  expect(await names(caller, '?pageSize=2&page=2')).toEqual(['gamma']);
});

it('a name is unique per workspace, in any case and for concurrent requests', async () => {
  expect(await statusesOf(20, () => create(acme, { name: 'Once' }))).toEqual({ 201: 1, 409: 19 });
  expect(codeOf(await create(acme, { name: 'ONCE' }))).toEqual([409, 'conflict']);
  const { body: other } = await create(acme, { name: 'Other' });
  expect(codeOf(await acme.call('PATCH', `/utm/${other.id}`, { name: 'once' }))).toEqual([409, 'conflict']);
  expect((await create(await aCaller(management), { name: 'Once' })).status).toBe(201);
});

it.each([
  ['no name', {}, 400],
  ['a name of the wrong type', { name: 7 }, 400],
  ['a name of blanks', { name: '  ' }, 422],
  ['a name of 191 characters', { name: 'x'.repeat(191) }, 422],
  ['a value of the wrong type', { name: 'x', utm_source: ['a'] }, 400],
  ['a value of 256 characters', { name: 'x', ref: 'x'.repeat(256) }, 422],
  ['no object', [], 400],
])('$0 is refused with $2', async (_what, body, status) => {
  const { status: answered, body: answer } = await create(acme, body);
  expect([answered, answer.error.message]).toEqual([status, expect.any(String)]);
});

it('a template is visible only to its workspace, and needs links.write to change', async () => {
  const { body: template } = await create(acme, { name: 'Ours', ...VALUES });
  const path = `/utm/${template.id}`;
  const stranger = await aCaller(management);
  expect(await names(stranger)).toEqual([]);
  for (const [method, body] of [['GET'], ['PATCH', { name: 'Theirs' }], ['DELETE']] as const) {
    expect(codeOf(await stranger.call(method, path, body))).toEqual([404, 'not_found']);
  }
  const reader = await withKey(management, acme, 'member', ['links.read']);
  expect((await reader.get(path)).status).toBe(200);
  for (const refused of [
    await create(reader, { name: 'x' }),
    await reader.call('PATCH', path, { name: 'x' }),
    await reader.call('DELETE', path),
    await (await withKey(management, acme, 'member', ['tags.write'])).get('/utm'),
  ]) {
    expect(codeOf(refused)).toEqual([403, 'forbidden']);
  }
  expect((await acme.get<UtmTemplate>(path)).body).toEqual(template);
});
