import { type Folder, folderSchema } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
const create = (caller: Caller, body: unknown) => caller.call<Folder>('POST', '/folders', body);

async function names(caller: Caller, query = ''): Promise<string[]> {
  const { status, body } = await caller.call<Folder[]>('GET', `/folders${query}`);
  expect(status).toBe(200);
  return folderSchema
    .array()
    .parse(body)
    .map(({ name }) => name);
}

describe('POST /folders', () => {
  it('answers 201 with the folder', async () => {
    const { status, body } = await create(acme, { name: 'Launch', description: 'Spring', accessLevel: 'read' });
    expect(status).toBe(201);
    expect(folderSchema.parse(body)).toMatchObject({
      name: 'Launch',
      description: 'Spring',
      accessLevel: 'read',
      type: 'default',
    });
    expect((await create(acme, { name: 'Plain' })).body).toMatchObject({ description: null, accessLevel: 'write' });
  });

  it.each([
    ['no name', {}, 400],
    ['null as a name', { name: null }, 400],
    ['a name of blanks', { name: ' ' }, 422],
    ['a description of 501 characters', { name: 'x', description: 'x'.repeat(501) }, 422],
    ['an unknown access level', { name: 'x', accessLevel: 'all' }, 422],
  ])('%s answers %i', async (_what, body, status) => {
    expect((await create(acme, body)).status).toBe(status);
  });

  it('of 100 concurrent requests with one name one succeeds', async () => {
    expect(await statusesOf(100, () => create(acme, { name: 'once' }))).toEqual({ 201: 1, 409: 99 });
  });

  it('needs pro, and business for an access level other than write; pro allows three folders', async () => {
    const [free, pro] = await Promise.all([aCaller(management, 'free'), aCaller(management, 'pro')]);
    expect(codeOf(await create(free, { name: 'x' }))).toEqual([403, 'forbidden']);
    expect(await names(free)).toEqual([]);
    expect(codeOf(await create(pro, { name: 'x', accessLevel: 'read' }))).toEqual([403, 'forbidden']);
    let next = 0;
    expect(await statusesOf(5, () => create(pro, { name: `folder ${next++}` }))).toEqual({ 201: 3, 403: 2 });
    const [folder] = (await pro.call<Folder[]>('GET', '/folders')).body;
    const change = (body: object) => pro.call('PATCH', `/folders/${folder?.id}`, body);
    for (const accessLevel of ['read', null]) expect(codeOf(await change({ accessLevel }))).toEqual([403, 'forbidden']);
    expect((await change({ name: 'renamed', accessLevel: 'write' })).status).toBe(200);
  });
});

describe('GET /folders', () => {
  it('lists oldest first; supports other orders, search and pages', async () => {
    const caller = await aCaller(management);
    for (const name of ['beta', 'Alpha', 'gamma']) await create(caller, { name });
    expect(await names(caller)).toEqual(['beta', 'Alpha', 'gamma']);
    expect(await names(caller, '?sortOrder=desc')).toEqual(['gamma', 'Alpha', 'beta']);
    expect(await names(caller, '?sortBy=name')).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names(caller, '?search=alp')).toEqual(['Alpha']);
    expect(await names(caller, '?page=3&pageSize=1')).toEqual(['gamma']);
    expect(await names(caller, '?includeLinkCount=true&search=alp')).toEqual(['Alpha']);
  });

  it('shows a folder without an access level only to owners', async () => {
    const caller = await aCaller(management);
    const { body: secret } = await create(caller, { name: 'secret', accessLevel: null });
    const { body: shown } = await create(caller, { name: 'shown', accessLevel: 'read' });
    const member = await withKey(management, caller, 'member');
    expect([await names(caller), await names(member)]).toEqual([['secret', 'shown'], ['shown']]);
    for (const [folder, status] of [
      [secret, 404],
      [shown, 403],
    ] as const) {
      expect((await member.call('PATCH', `/folders/${folder.id}`, { name: 'mine' })).status).toBe(status);
      expect((await member.call('DELETE', `/folders/${folder.id}`)).status).toBe(status);
    }
  });
});

describe('PATCH /folders/{id}', () => {
  it('changes given fields and clears those that are null', async () => {
    const { body: folder } = await create(acme, { name: 'before', description: 'words' });
    const update = (body: unknown) => acme.call<Folder>('PATCH', `/folders/${folder.id}`, body);
    expect((await update({ name: 'after' })).body).toMatchObject({ name: 'after', description: 'words' });
    const { body } = await update({ description: null, accessLevel: null });
    expect(body).toEqual({ ...folder, name: 'after', description: null, accessLevel: null, updatedAt: body.updatedAt });
    expect(Date.parse(body.updatedAt)).toBeGreaterThanOrEqual(Date.parse(folder.updatedAt));
  });

  it('to a name that is taken answers 409; a folder of another workspace 404', async () => {
    const { body: folder } = await create(acme, { name: 'mine' });
    await create(acme, { name: 'yours' });
    const stranger = await aCaller(management);
    expect(codeOf(await acme.call('PATCH', `/folders/${folder.id}`, { name: 'YOURS' }))).toEqual([409, 'conflict']);
    expect(codeOf(await stranger.call('PATCH', `/folders/${folder.id}`, { name: 'x' }))).toEqual([404, 'not_found']);
  });
});

describe('DELETE /folders/{id}', () => {
  it('takes links out of a folder that does not exist any more, as an interrupted removal leaves them', async () => {
    const { body: folder } = await create(acme, { name: 'interrupted' });
    await acme.call('DELETE', `/folders/${folder.id}`);
    const { links } = management.catalog;
    const draft = { domain: acme.host, url: 'https://acme.com', folderId: folder.id };
    const { id } = await links.create(acme.workspaceId, draft);
    expect(codeOf(await acme.call('DELETE', `/folders/${folder.id}`))).toEqual([404, 'not_found']);
    expect((await links.get(acme.workspaceId, id))?.folderId).toBeNull();
  });

  it('returns the id and releases the name', async () => {
    const { body: folder } = await create(acme, { name: 'gone' });
    expect(await acme.call('DELETE', `/folders/${folder.id}`)).toEqual({ status: 200, body: { id: folder.id } });
    expect(codeOf(await acme.call('DELETE', `/folders/${folder.id}`))).toEqual([404, 'not_found']);
    expect((await create(acme, { name: 'gone' })).status).toBe(201);
  });
});
