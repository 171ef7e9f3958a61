import type { Link } from '@waymark/contract';
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

const URL_A = 'https://acme.com/a';
const bulkDelete = (query: string, caller = acme) =>
  caller.call<{ deletedCount: number }>('DELETE', `/links/bulk${query}`);
const remove = (id: string, caller = acme) => caller.call<{ id: string }>('DELETE', `/links/${id}`);
const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];
async function aLink(fields: object = {}): Promise<Link> {
  const { status, body } = await acme.post({ url: URL_A, ...fields });
  expect(status).toBe(200);
  return body;
}

describe('DELETE /links/{linkId}', () => {
  it('deletes a link by id or external id and returns its id', async () => {
    const [one, two] = [await aLink(), await aLink({ externalId: 'a/b' })];
    expect(await remove(one.id)).toEqual({ status: 200, body: { id: one.id } });
    expect(await remove('ext_a%2Fb')).toEqual({ status: 200, body: { id: two.id } });
    for (const id of [one.id, two.id, 'ext_a%2Fb']) expect(codeOf(await remove(id))).toEqual([404, 'not_found']);
    expect((await acme.get(`/links/${one.id}`)).status).toBe(404);
  });

  it('stops the redirect in every process at once, and releases key and external id', async () => {
    const link = await aLink({ key: 'gone', externalId: 'gone' });
    const other = management.anotherCatalog();
    expect((await other.links.findByAddress(acme.host, 'gone'))?.id).toBe(link.id);
    await remove(link.id);
    expect(await other.links.findByAddress(acme.host, 'gone')).toBeUndefined();
    const next = await aLink({ key: 'gone', externalId: 'gone' });
    expect(next.id).not.toBe(link.id);
    expect((await other.links.findByAddress(acme.host, 'gone'))?.id).toBe(next.id);
    expect((await acme.get('/links/ext_gone')).body.id).toBe(next.id);
  });

  it('keeps a row marked as deleted and without data, so that its events are recognised as those of a deleted link', async () => {
    const link = await aLink();
    await remove(link.id);
    const rows = await management.database.client.query({
      query: 'SELECT domain, key, data FROM links WHERE deleted = 1 AND key = {key:String}',
      query_params: { key: link.key },
      format: 'JSONCompactEachRow',
    });
    expect(await rows.json()).toEqual([[acme.host, link.key, '']]);
  });

  it('the root link of a domain cannot be deleted', async () => {
    const { body: root } = await acme.get(`/links/info?domain=${acme.host}`);
    expect(codeOf(await remove(root.id))).toEqual([403, 'forbidden']);
  });

  it("another workspace's link and an invalid id are not found", async () => {
    const stranger = await aCaller(management);
    const link = await aLink({ externalId: 'mine' });
    for (const id of [link.id, 'ext_mine', 'nonsense']) {
      expect(codeOf(await remove(id, stranger))).toEqual([404, 'not_found']);
    }
    expect((await acme.get(`/links/${link.id}`)).status).toBe(200);
  });

  it('of concurrent requests one succeeds', async () => {
    const link = await aLink();
    expect(await statusesOf(10, () => remove(link.id))).toEqual({ 200: 1, 404: 9 });
  });

  it('a deleted link still counts against the monthly quota', async () => {
    const caller = await aCaller(management, 'business');
    await management.catalog.workspaces.update(caller.workspaceId, { quotas: { linksPerMonth: 1 } });
    const { body } = await caller.post({ url: URL_A });
    expect((await remove(body.id, caller)).status).toBe(200);
    expect((await caller.post({ url: URL_A })).status).toBe(403);
  });

  it('needs the permission links.write', async () => {
    const reader = await withKey(management, acme, 'owner', ['links.read']);
    expect(codeOf(await remove((await aLink()).id, reader))).toEqual([403, 'forbidden']);
  });
});

describe('DELETE /links/bulk', () => {
  it('deletes links by id and external id, skips unknown and root links, and returns the count', async () => {
    const [one, two, kept] = [await aLink(), await aLink({ externalId: 'bulk,1' }), await aLink()];
    await aLink({ externalId: 'bulk-two' });
    const { body: root } = await acme.get(`/links/info?domain=${acme.host}`);
    const linkIds = [one.id, 'ext_bulk-two', one.id, root.id, 'link_zzzzzzzzzzz', 'x'].join(',');
    expect(await bulkDelete(`?linkIds=${linkIds}&linkIds=${two.id}`)).toEqual({
      status: 200,
      body: { deletedCount: 3 },
    });
    expect((await acme.get(`/links/${one.id}`)).status).toBe(404);
    for (const id of [kept.id, root.id]) expect((await acme.get(`/links/${id}`)).status).toBe(200);
    expect(await bulkDelete(`?linkIds=${linkIds}`)).toEqual({ status: 200, body: { deletedCount: 0 } });
  });

  it('accepts a hundred ids', async () => {
    const { id } = await aLink();
    const linkIds = [...Array.from({ length: 99 }, (_, index) => `ext_${index}`), id].join(',');
    expect(await bulkDelete(`?linkIds=${linkIds}`)).toEqual({ status: 200, body: { deletedCount: 1 } });
  });

  it('deletes nothing if an external id with a comma is named, as it would be read as that of another link', async () => {
    const ids = ['order', 'order,7', 'order, 7', 'order,,7', 'order,7,ext_x'];
    const links = await Promise.all([...ids, 'last'].map((externalId) => aLink({ externalId })));
    for (const id of ids.slice(1)) {
      const { status, body } = await bulkDelete(`?linkIds=ext_last,${encodeURIComponent(`ext_${id}`)},${links[0]?.id}`);
      expect([status, JSON.stringify(body)]).toEqual([
        422,
        expect.stringContaining('invalid_format: linkIds: must have \\"link_\\" or \\"ext_\\" in front of each id'),
      ]);
    }
    for (const { id } of links) expect((await acme.get(`/links/${id}`)).status).toBe(200);
    const unknown = `?linkIds=nonsense,${links[0]?.id},nonsense, ext_last`;
    expect((await bulkDelete(encodeURI(unknown))).body).toEqual({ deletedCount: 2 });
  });

  it('keeps a blank at the end of an external id, and ignores one in front of an item', async () => {
    const [plain, blank, other] = await Promise.all(['a', 'a ', 'b'].map((externalId) => aLink({ externalId })));
    expect((await bulkDelete(`?linkIds=ext_none,%20ext_a%20,%20${other?.id}%20`)).body).toEqual({ deletedCount: 2 });
    const statuses = [plain, blank, other].map(async (link) => (await acme.get(`/links/${link?.id}`)).status);
    expect(await Promise.all(statuses)).toEqual([200, 404, 404]);
  });

  it.each([
    ['no ids', '', 400, 'bad_request'],
    ['an empty text', '?linkIds=', 400, 'bad_request'],
    ['an empty list', '?linkIds=,', 400, 'bad_request'],
    ['empty lists', '?linkIds=&linkIds=', 400, 'bad_request'],
    ['a list of blanks', '?linkIds=%20,%20&linkIds=', 400, 'bad_request'],
    ['101 ids', `?linkIds=${Array.from({ length: 101 }, () => 'x').join(',')}`, 422, 'unprocessable_entity'],
  ])('refuses %s', async (_what, query, status, code) => {
    expect(codeOf(await bulkDelete(query))).toEqual([status, code]);
  });

  it("does not touch another workspace's links", async () => {
    const stranger = await aCaller(management);
    const link = await aLink();
    expect((await bulkDelete(`?linkIds=${link.id}`, stranger)).body).toEqual({ deletedCount: 0 });
    expect((await acme.get(`/links/${link.id}`)).status).toBe(200);
  });
});
