import { API_READ, normaliseKey } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFile } from '../../src/index.js';
import { startImports, type TestImport } from './test-import.js';

let imports: TestImport;
beforeAll(async () => {
  imports = await startImports();
});
afterAll(() => imports.close());

const find = (domain: string, key: string) => imports.catalog.links.findByAddress(domain, normaliseKey(key), API_READ);

/** Imports a record of dub again, with `update`. */
function again(workspace: Parameters<TestImport['run']>[0], record: object) {
  async function* chunks() {
    yield Buffer.from(JSON.stringify(record));
  }
  return imports.run(workspace, openFile('dub', 'ndjson', chunks()), { source: 'dub', onConflict: 'update' });
}

describe('a second import', () => {
  it('takes the folder and the tenant that a record has, also for a link of a partner', async () => {
    const acme = await imports.workspace();
    const [ada, bob] = await Promise.all(
      ['ada', 'bob'].map((tenantId) =>
        imports.catalog.partners.create(acme.id, { name: tenantId, programId: null, tenantId }),
      ),
    );
    const table = (folder: string, tenantId: string) =>
      `url,key,folder,tenantId\nhttps://a.test,k,${folder},${tenantId}\n`;
    await imports.table(acme, table('', 'ada'));
    expect(await find(acme.host, 'k')).toMatchObject({ partnerId: ada?.id, folderId: null });
    const options = { onConflict: 'update' } as const;
    expect(await imports.table(acme, table('Partners', 'bob'), options)).toMatchObject({ updated: 1 });
    const folder = await imports.catalog.folders.findByName(acme.id, 'Partners');
    const moved = { partnerId: bob?.id, tenantId: 'bob', folderId: folder?.id };
    expect(await find(acme.host, 'k')).toMatchObject(moved);
    expect(await imports.table(acme, table('', ''), options)).toMatchObject({ skipped: 1 });
    expect(await find(acme.host, 'k')).toMatchObject(moved);
  });

  it('creates a link of dub whose key has changed a second time, without the old id, and rejects it if it has an external id', async () => {
    const acme = await imports.workspace();
    const [plain, own] = [
      { id: 'link_1', url: 'https://a.test', key: 'a' },
      { id: 'link_2', url: 'https://b.test', key: 'b', externalId: 'own' },
    ];
    for (const record of [plain, own]) expect(await again(acme, record)).toMatchObject({ created: 1 });
    expect(await again(acme, { ...plain, key: 'a2' })).toMatchObject({ created: 1, rejected: 0 });
    expect(await again(acme, { ...own, key: 'b2' })).toMatchObject({ created: 0, rejected: 1 });
    expect([await find(acme.host, 'a'), await find(acme.host, 'a2'), await find(acme.host, 'b2')]).toMatchObject([
      { externalId: 'link_1' },
      { externalId: null },
      undefined,
    ]);
  });
});
