import { API_READ, type LinkRecord, type WorkspaceRecord } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ImportOptions } from '../../src/index.js';
import { startImports, type TestImport } from './test-import.js';

let imports: TestImport;
beforeAll(async () => {
  imports = await startImports();
});
afterAll(() => imports.close());

type Workspace = Awaited<ReturnType<TestImport['workspace']>>;

const aLink = ({ id, host }: Workspace, fields: object = {}) =>
  imports.catalog.links.create(id, { domain: host, key: 'k', url: 'https://a.test', title: 'Old', ...fields });

/** Imports a table that updates links. `before` runs after the links were found, and before they are locked for their update. */
function importOvertakenBy(
  workspace: WorkspaceRecord,
  table: string,
  before: () => Promise<unknown>,
  options: Partial<Pick<ImportOptions, 'author'>> = {},
) {
  const { catalog } = imports;
  let isFirst = true;
  const updateMany: typeof catalog.links.updateMany = async (...change) => {
    if (isFirst) await before();
    isFirst = false;
    return catalog.links.updateMany(...change);
  };
  const deps = {
    ...{ catalog: { ...catalog, links: { ...catalog.links, updateMany } }, defaultDomain: undefined },
    now: Date.now,
  };
  return imports.table(workspace, table, { deps, onConflict: 'update', ...options });
}

const recordOf = ({ workspaceId, id }: LinkRecord) => imports.catalog.links.get(workspaceId, id, API_READ);

describe('an import that updates links', () => {
  it('leaves them on the new address of their domain that is renamed meanwhile', async () => {
    const acme = await imports.workspace();
    const link = await aLink(acme);
    const domain = await imports.catalog.domains.findBySlug(acme.host, API_READ);
    const slug = `new.${acme.host}`;
    const rename = () => imports.catalog.domains.update(acme.id, domain?.id ?? '', { slug });
    const result = await importOvertakenBy(acme, 'url,key,title\nhttps://b.test,k,New\n', rename);
    expect(result).toMatchObject({ updated: 1, rejected: 0 });
    expect(await recordOf(link)).toMatchObject({ domain: slug, key: 'k', url: 'https://b.test', title: 'New' });
    expect((await imports.catalog.links.findByAddress(slug, 'k', API_READ))?.id).toBe(link.id);
    expect(await imports.catalog.links.findByAddress(acme.host, 'k', API_READ)).toBeUndefined();
  });

  it('leaves a link at the key that another request gives it meanwhile', async () => {
    const acme = await imports.workspace();
    const link = await aLink(acme);
    const move = () => imports.catalog.links.update(acme.id, link.id, (record) => ({ ...record, key: 'published' }));
    const result = await importOvertakenBy(acme, 'url,key,title\nhttps://b.test,k,New\n', move);
    expect(result).toMatchObject({ updated: 1, rejected: 0 });
    expect(await recordOf(link)).toMatchObject({ key: 'published', url: 'https://b.test', title: 'New' });
  });

  it('leaves no link with a folder or a tag that is deleted meanwhile', async () => {
    const acme = await imports.workspace();
    const { folders, tags } = imports.catalog;
    const folder = await folders.create(acme.id, { name: 'Campaigns' });
    const tag = await tags.create(acme.id, { name: 'red', color: 'red' });
    const [before, within] = [
      await aLink(acme),
      await aLink(acme, { key: 'within', folderId: folder.id, tagIds: [tag.id] }),
    ];
    const remove = () => Promise.all([folders.remove(acme.id, folder.id), tags.remove(acme.id, tag.id)]);
    const table = 'url,key,tags,folder\nhttps://b.test,k,red,Campaigns\nhttps://b.test,within,red,Campaigns\n';
    const result = await importOvertakenBy(acme, table, remove);
    expect(result).toMatchObject({ updated: 2, rejected: 0 });
    for (const link of [before, within])
      expect(await recordOf(link)).toMatchObject({ url: 'https://b.test', folderId: null, tagIds: [] });
  });

  it('rejects the row of a link that is deleted meanwhile', async () => {
    const acme = await imports.workspace();
    const link = await aLink(acme);
    const remove = () => imports.catalog.links.removeMany(acme.id, [link.id]);
    const result = await importOvertakenBy(acme, 'url,key\nhttps://b.test,k\n', remove);
    expect(result).toMatchObject({ updated: 0, rejected: 1 });
    expect(result.rejections).toMatchObject([{ row: 2, reason: 'The link was deleted during the import.' }]);
  });

  it('rejects the row of a link that is put into a folder meanwhile to which the key may not write', async () => {
    const acme = await imports.workspace();
    const link = await aLink(acme);
    const folder = await imports.catalog.folders.create(acme.id, { name: 'Closed', accessLevel: 'read' });
    const close = () => imports.catalog.links.update(acme.id, link.id, (one) => ({ ...one, folderId: folder.id }));
    const author: ImportOptions['author'] = { workspace: acme, apiKey: { role: 'member', scopes: [], userId: null } };
    const result = await importOvertakenBy(acme, 'url,key\nhttps://b.test,k\n', close, { author });
    expect(result).toMatchObject({ updated: 0, rejected: 1 });
    expect(await recordOf(link)).toMatchObject({ url: 'https://a.test', folderId: folder.id });
  });
});
