import type { Link } from '@waymark/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, statusesOf, type TestManagement, withKey } from '../test-management.js';

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const URL_A = 'https://acme.com/a';
const remove = (id: string, caller = acme) => caller.call<{ id: string }>('DELETE', `/links/${id}`);
const codeOf = ({ status, body }: Awaited<ReturnType<typeof remove>>) => [status, body.error?.code];
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
