import type { AddressInfo } from 'node:net';
import { Dub } from 'dub';
import * as errors from 'dub/models/errors';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let caller: Caller;
let dub: Dub;

beforeAll(async () => {
  management = await startManagement();
  caller = await aCaller(management);
  await management.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = management.app.server.address() as AddressInfo;
  dub = new Dub({ token: caller.token, serverURL: `http://127.0.0.1:${port}` });
});
afterAll(() => management.close());

it('lists links page by page, and counts them', async () => {
  const made = await dub.links.createMany(Array.from({ length: 7 }, (_, index) => ({ url: `https://a.com/${index}` })));
  expect(made).toHaveLength(7);
  const seen: string[] = [];
  for await (const page of await dub.links.list({ pageSize: 3 })) seen.push(...page.result.map(({ url }) => url));
  expect(seen).toEqual([...Array.from({ length: 7 }, (_, index) => `https://a.com/${6 - index}`), '']);
  const { result: rest } = await dub.links.list({ startingAfter: (made[1] as { id: string }).id });
  expect(rest.map(({ url }) => url)).toEqual(['https://a.com/0', '']);
  expect(await dub.links.count({})).toBe(8);
  expect(await dub.links.count({ search: 'a.com/3', showArchived: true })).toBe(1);
  const grouped = await dub.links.count({ groupBy: 'domain' }).catch((err: unknown) => err);
  expect(grouped).toMatchObject({ name: 'ResponseValidationError', rawValue: [{ _count: 8 }] });
});

it('lists each link next to another one once, page by page, in both directions', async () => {
  const { workspaceId } = await aCaller(management);
  const { token } = await management.catalog.keys.create({
    ...{ workspaceId, name: 'pages', kind: 'secret', role: 'owner', scopes: [] },
  });
  const { links } = new Dub({ token, serverURL: dub._baseURL?.toString() });
  const made: { id: string }[] = [];
  for (let index = 0; index < 6; index++) made.push(await links.create({ url: `https://p.com/${index}` }));
  const pages = async (request: { startingAfter?: string | undefined; endingBefore?: string | undefined }) => {
    const seen: string[][] = [];
    for await (const { result } of await links.list({ ...request, pageSize: 2 })) {
      seen.push(result.map(({ url }) => url.replace('https://p.com/', '')));
      if (seen.length > 5) throw new Error(`The pages do not end: ${JSON.stringify(seen)}`);
    }
    return seen;
  };
  expect(await pages({ startingAfter: made[4]?.id })).toEqual([['3', '2'], ['1', '0'], ['']]);
  expect(await pages({ endingBefore: made[0]?.id })).toEqual([['2', '1'], ['4', '3'], ['5']]);
});

it('filters by tags as a list and as one', async () => {
  const tag = await management.catalog.tags.create(caller.workspaceId, { name: 'Sale' });
  const link = await dub.links.create({ url: 'https://b.com', tagNames: ['sale'] });
  expect(link.tags).toEqual([{ id: tag.id, name: 'Sale', color: expect.any(String) }]);
  for (const request of [{ tagIds: [tag.id, 'tag_x'] }, { tagIds: tag.id }, { tagNames: 'SALE' }, { withTags: true }]) {
    expect((await dub.links.list(request)).result.map(({ id }) => id)).toEqual([link.id]);
  }
});

it('creates a link and gets it by id, external id and address', async () => {
  const link = await dub.links.create({
    url: 'https://acme.com',
    key: 'sdk',
    externalId: 'sdk-1',
    trackConversion: true,
    utmSource: 'sdk',
    geo: { FR: 'https://acme.fr' },
    testVariants: [
      { url: 'https://a.com', percentage: 50 },
      { url: 'https://b.com', percentage: 50 },
    ],
  });
  expect(link).toMatchObject({ key: 'sdk', url: 'https://acme.com/?utm_source=sdk', utmSource: 'sdk' });
  expect(await dub.links.get({ linkId: link.id })).toEqual(link);
  expect(await dub.links.get({ externalId: 'ext_sdk-1' })).toEqual(link);
  expect(await dub.links.get({ domain: caller.host, key: 'SDK' })).toEqual(link);
});

it('updates, upserts and deletes a link', async () => {
  const link = await dub.links.create({ url: 'https://c.com', externalId: 'c', password: 'secret' });
  const updated = await dub.links.update('ext_c', { key: 'moved', title: 'Title', password: null, utmSource: 'sdk' });
  expect(updated).toMatchObject({ id: link.id, key: 'moved', title: 'Title', password: null, utmSource: 'sdk' });
  const upserted = await dub.links.upsert({ url: updated.url, comments: 'again' });
  expect(upserted).toMatchObject({ id: link.id, comments: 'again', title: 'Title' });
  expect(await dub.links.delete(link.id)).toEqual({ id: link.id });
  await expect(dub.links.get({ linkId: link.id })).rejects.toBeInstanceOf(errors.NotFound);
});

it('an update without a body changes no field', async () => {
  const link = await dub.links.create({ url: 'https://n.com', externalId: 'n' });
  expect(await dub.links.update(link.id)).toEqual(link);
  expect(await dub.links.update('ext_n')).toEqual(link);
  const tag = await dub.tags.create({ name: 'Unchanged', color: 'red' });
  expect(await dub.tags.update(tag.id)).toEqual(tag);
  const folder = await dub.folders.create({ name: 'Unchanged', accessLevel: 'read' });
  expect(await dub.folders.update(folder.id)).toEqual({ ...folder, updatedAt: expect.any(String) });
  const { result: domains } = await dub.domains.list({});
  const domain = domains.find(({ slug }) => slug === caller.host);
  expect(await dub.domains.update(caller.host)).toEqual({ ...domain, updatedAt: expect.any(String) });
  await expect(dub.links.update('link_none')).rejects.toBeInstanceOf(errors.NotFound);
});

it('creates, updates and deletes many, with an error for each that fails', async () => {
  const [made, error] = await dub.links.createMany([{ url: 'nonsense' }, { url: 'https://d.com', key: 'd' }]);
  expect(made).toMatchObject({ key: 'd' });
  expect(error).toMatchObject({ code: 'unprocessable_entity', link: { url: 'nonsense' } });
  const { id } = made as { id: string };
  const updated = await dub.links.updateMany({ linkIds: [id, 'link_none'], data: { archived: true } });
  expect(updated).toMatchObject([{ id, archived: true }]);
  expect(await dub.links.deleteMany({ linkIds: [id, 'ext_none'] })).toEqual({ deletedCount: 1 });
});

it('deletes no other link for an external id with a comma, or with a blank at its end', async () => {
  const [one, other] = await Promise.all(
    ['of-sdk', 'of-sdk,1'].map((externalId) => dub.links.create({ url: 'https://d.com', externalId })),
  );
  const deleted = dub.links.deleteMany({ linkIds: ['ext_of-sdk,1'] });
  await expect(deleted).rejects.toBeInstanceOf(errors.UnprocessableEntity);
  expect(await dub.links.deleteMany({ linkIds: ['ext_of-sdk '] })).toEqual({ deletedCount: 0 });
  for (const link of [one, other]) expect(await dub.links.get({ linkId: link?.id })).toEqual(link);
});

it('updates and deletes many although some are in a folder without write access', async () => {
  const folder = await management.catalog.folders.create(caller.workspaceId, { name: 'Read', accessLevel: 'read' });
  const closed = await dub.links.create({ url: 'https://f.com', folderId: folder.id });
  const open = await dub.links.create({ url: 'https://f.com' });
  const { token } = await management.catalog.keys.create({
    ...{ workspaceId: caller.workspaceId, name: 'member', kind: 'secret', role: 'member', scopes: [] },
  });
  const member = new Dub({ token, serverURL: dub._baseURL?.toString() });
  const linkIds = [closed.id, open.id];
  const updated = await member.links.updateMany({ linkIds, data: { comments: 'all' } });
  expect(updated.map(({ id, comments }) => [id, comments])).toEqual([
    [open.id, 'all'],
    [closed.id, null],
  ]);
  expect(await member.links.deleteMany({ linkIds })).toEqual({ deletedCount: 1 });
  expect(await dub.links.get({ linkId: closed.id })).toEqual(closed);
});

it('throws its own typed errors', async () => {
  const { id } = await dub.links.create({ url: 'https://e.com', key: 'e' });
  const other = await dub.links.create({ url: 'https://e.com' });
  await expect(dub.links.update(other.id, { key: 'E' })).rejects.toBeInstanceOf(errors.Conflict);
  await expect(dub.links.update('link_none', {})).rejects.toBeInstanceOf(errors.NotFound);
  await expect(dub.links.updateMany({ linkIds: ['x'], data: {} })).rejects.toBeInstanceOf(errors.NotFound);
  await expect(dub.links.update(id, { folderId: 'fold_x' })).rejects.toBeInstanceOf(errors.NotFound);
  await expect(dub.links.deleteMany({ linkIds: [] })).rejects.toBeInstanceOf(errors.BadRequest);
  await expect(dub.links.list({ pageSize: 1000 })).rejects.toBeInstanceOf(errors.UnprocessableEntity);
  await expect(dub.links.list({ domain: 'nowhere.example' })).rejects.toBeInstanceOf(errors.NotFound);
  const reader = await management.catalog.keys.create({
    ...{ workspaceId: caller.workspaceId, name: 'reader', kind: 'secret', role: 'owner', scopes: ['links.read'] },
  });
  const readOnly = new Dub({ token: reader.token, serverURL: dub._baseURL?.toString() });
  await expect(readOnly.links.delete(id)).rejects.toBeInstanceOf(errors.Forbidden);
  await expect(new Dub({ token: 'x', serverURL: dub._baseURL?.toString() }).links.count()).rejects.toBeInstanceOf(
    errors.Unauthorized,
  );
});

it('lists domains, page by page', async () => {
  await management.catalog.domains.create(caller.workspaceId, { slug: `two.${caller.host}` });
  const slugs: string[] = [];
  for await (const page of await dub.domains.list({ pageSize: 1 })) slugs.push(...page.result.map(({ slug }) => slug));
  expect(slugs).toEqual([caller.host, `two.${caller.host}`]);
});
