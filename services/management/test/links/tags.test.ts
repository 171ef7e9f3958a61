import { type Tag, tagSchema } from '@waymark/contract';
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
const create = (caller: Caller, body: unknown) => caller.call<Tag>('POST', '/tags', body);

describe('POST /tags', () => {
  it('answers 201 with the tag, with trimmed name and the given color', async () => {
    const { status, body } = await create(acme, { name: '  Spring ', color: 'pink' });
    expect([status, tagSchema.parse(body)]).toEqual([201, { id: body.id, name: 'Spring', color: 'pink' }]);
  });

  it('prefers the deprecated `tag` to `name`', async () => {
    const { body } = await create(acme, { tag: 'by alias', name: 'by name' });
    expect(tagSchema.parse(body).name).toBe('by alias');
  });

  it('picks a random color, none that is unknown to older SDKs of dub', async () => {
    const caller = await aCaller(management);
    const made = await Promise.all(
      Array.from({ length: 150 }, async (_, index) => (await create(caller, { name: `tag ${index}` })).body),
    );
    const colors = new Set(made.map(({ color }) => color));
    expect([...colors].sort()).toEqual(['blue', 'brown', 'green', 'purple', 'red', 'yellow']);
  });

  it.each([
    ['no name', {}, 400, 'bad_request'],
    ['a name of the wrong type', { name: 7 }, 400, 'bad_request'],
    ['a name of blanks', { name: '  ' }, 422, 'unprocessable_entity'],
    ['a name of 191 characters', { name: 'x'.repeat(191) }, 422, 'unprocessable_entity'],
    ['an unknown color', { name: 'x', color: 'black' }, 422, 'unprocessable_entity'],
  ])('%s answers %i', async (_what, body, status, code) => {
    expect(codeOf(await create(acme, body))).toEqual([status, code]);
  });

  it('names in an error the field that was sent', async () => {
    const { body: made } = await create(acme, { name: 'refused' });
    for (const field of ['tag', 'name']) {
      const refused = { [field]: 'a\0b' };
      const answers = [await create(acme, refused), await acme.call('PATCH', `/tags/${made.id}`, refused)];
      for (const { body } of answers)
        expect(body).toMatchObject({ error: { message: expect.stringContaining(`${field}: `) } });
    }
  });

  it('a name that is taken, in any case, conflicts; in another workspace it is available', async () => {
    await create(acme, { name: 'Été' });
    expect(codeOf(await create(acme, { name: 'ÉTÉ' }))).toEqual([409, 'conflict']);
    expect((await create(await aCaller(management), { name: 'été' })).status).toBe(201);
  });

  it('of 100 concurrent requests with one name one succeeds', async () => {
    expect(await statusesOf(100, () => create(acme, { name: 'once' }))).toEqual({ 201: 1, 409: 99 });
  });

  it("enforces the plan's quota, also for concurrent requests, and the workspace's own", async () => {
    const free = await aCaller(management, 'free');
    let next = 0;
    expect(await statusesOf(12, () => create(free, { name: `tag ${next++}` }))).toEqual({ 201: 5, 403: 7 });
    await management.catalog.workspaces.update(free.workspaceId, { quotas: { tags: 6 } });
    expect((await create(free, { name: 'sixth' })).status).toBe(201);
    expect(codeOf(await create(free, { name: 'seventh' }))).toEqual([403, 'forbidden']);
  });
});

describe('GET /tags', () => {
  it('lists by name, ascending; supports order by creation, search, ids and pages', async () => {
    const caller = await aCaller(management);
    const made: Tag[] = [];
    for (const name of ['beta', 'Alpha', 'gamma']) made.push((await create(caller, { name })).body);
    const names = async (query: string) => {
      const { status, body } = await caller.call<Tag[]>('GET', `/tags${query}`);
      expect(status).toBe(200);
      return tagSchema
        .array()
        .parse(body)
        .map(({ name }) => name);
    };
    expect(await names('')).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names('?sortOrder=desc')).toEqual(['gamma', 'beta', 'Alpha']);
    expect(await names('?sortBy=createdAt')).toEqual(['beta', 'Alpha', 'gamma']);
    expect(await names('?search=AMM')).toEqual(['gamma']);
    expect(await names('?page=2&pageSize=2')).toEqual(['gamma']);
    expect(await names(`?ids=${made[0]?.id},nonsense&ids=${made[2]?.id}`)).toEqual(['beta', 'gamma']);
    for (const none of ['?ids=', '?ids=&ids=', '?ids=,']) expect(await names(none)).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names('?search=%00')).toEqual([]);
  });

  it.each([
    ['pageSize=101', 422],
    ['page=0', 422],
    ['page=x', 400],
    ['sortBy=color', 422],
    ['sortOrder=up', 422],
  ])('%s answers %i', async (query, status) => {
    expect((await acme.call('GET', `/tags?${query}`)).status).toBe(status);
  });
});

describe('PATCH and PUT /tags/{id}', () => {
  it('change the name, the color or both', async () => {
    const { body: tag } = await create(acme, { name: 'first', color: 'red' });
    const update = (method: 'PATCH' | 'PUT', body: unknown) => acme.call<Tag>(method, `/tags/${tag.id}`, body);
    expect((await update('PATCH', { color: 'green' })).body).toEqual({ ...tag, color: 'green' });
    expect((await update('PUT', { name: 'second' })).body).toEqual({ ...tag, name: 'second', color: 'green' });
    expect((await update('PATCH', { tag: 'SECOND' })).body).toEqual({ ...tag, name: 'SECOND', color: 'green' });
    expect((await create(acme, { name: 'first' })).status).toBe(201);
  });

  it('concurrent updates of different fields keep both', async () => {
    const { body: tag } = await create(acme, { name: 'both', color: 'red' });
    const path = `/tags/${tag.id}`;
    await Promise.all([acme.call('PATCH', path, { name: 'both!' }), acme.call('PATCH', path, { color: 'blue' })]);
    const { body } = await acme.call<Tag[]>('GET', `/tags?ids=${tag.id}`);
    expect(body).toEqual([{ id: tag.id, name: 'both!', color: 'blue' }]);
  });

  it('a name that is taken answers 409; an unknown tag or one of another workspace 404', async () => {
    const { body: tag } = await create(acme, { name: 'mine' });
    await create(acme, { name: 'yours' });
    const stranger = await aCaller(management);
    expect(codeOf(await acme.call('PATCH', `/tags/${tag.id}`, { name: 'Yours' }))).toEqual([409, 'conflict']);
    expect(codeOf(await stranger.call('PATCH', `/tags/${tag.id}`, { name: 'x' }))).toEqual([404, 'not_found']);
    expect(codeOf(await acme.call('PATCH', '/tags/nonsense', { name: 'x' }))).toEqual([404, 'not_found']);
  });
});

describe('DELETE /tags/{id}', () => {
  it('returns the id and releases the name', async () => {
    const { body: tag } = await create(acme, { name: 'gone' });
    expect(await acme.call('DELETE', `/tags/${tag.id}`)).toEqual({ status: 200, body: { id: tag.id } });
    expect(codeOf(await acme.call('DELETE', `/tags/${tag.id}`))).toEqual([404, 'not_found']);
    expect((await create(acme, { name: 'gone' })).status).toBe(201);
  });
});

describe('scopes', () => {
  it('tags.read can list but not write; tags.write can do both; links.write neither', async () => {
    const [reader, writer, other] = await Promise.all([
      withKey(management, acme, 'member', ['tags.read']),
      withKey(management, acme, 'member', ['tags.write']),
      withKey(management, acme, 'member', ['links.write']),
    ]);
    const list = (caller: Caller) => caller.call('GET', '/tags').then(({ status }) => status);
    expect(await Promise.all([reader, writer, other].map(list))).toEqual([200, 200, 403]);
    const write = (caller: Caller, name: string) => create(caller, { name }).then(({ status }) => status);
    expect([await write(reader, 's1'), await write(writer, 's2'), await write(other, 's3')]).toEqual([403, 201, 403]);
  });
});
