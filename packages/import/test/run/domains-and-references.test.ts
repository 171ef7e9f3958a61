import { API_READ, normaliseKey } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDomainMap } from '../../src/index.js';
import { madeKey } from '../../src/run/link-plan.js';
import { startImports, type TestImport } from './test-import.js';

describe('an import', () => {
  let imports: TestImport;
  beforeAll(async () => {
    imports = await startImports();
  });
  afterAll(() => imports.close());

  const find = (domain: string, key: string) =>
    imports.catalog.links.findByAddress(domain, normaliseKey(key), API_READ);

  it('takes domains in Unicode and in punycode for the same, in rows and in options, and again', async () => {
    const acme = await imports.workspace();
    const mark = acme.host.split('.')[1];
    const unicode = `bücher-${mark}.example`;
    const host = new URL(`https://${unicode}`).host;
    const table = `url,short link\nhttps://a.test,https://${unicode}/a\nhttps://b.test,https://${host}/b\nhttps://a.test,https://${unicode}/A\n`;
    expect(await imports.table(acme, table, { isDry: true })).toMatchObject({ rejected: 0 });
    expect(await imports.table(acme, table)).toMatchObject({ created: 2, rejected: 1 });
    expect(await imports.table(acme, table)).toMatchObject({ skipped: 2, rejected: 1 });
    expect((await find(host, 'a'))?.url).toBe('https://a.test');
    for (const domains of [[`${unicode}=${acme.host}`], [`${host}=${acme.host}`]]) {
      const mapped = parseDomainMap(domains);
      expect([mapped.domainOf(unicode), mapped.domainOf(host)]).toEqual([acme.host, acme.host]);
    }
    const keyless = `url\nhttps://c.test\n`;
    expect(await imports.table(acme, keyless, { domains: [unicode] })).toMatchObject({ created: 1 });
    expect(await imports.table(acme, keyless, { domains: [unicode] })).toMatchObject({ skipped: 1 });
    // As earlier versions have made it.
    expect(await find(host, madeKey(unicode, 'https://c.test'))).toBeDefined();
  });

  it('makes links without a tag and a folder that are deleted during the import, and lists them', async () => {
    const acme = await imports.workspace();
    const rows = Array.from({ length: 150 }, (_, n) => `https://a.test/${n},k${n},red,Campaigns\n`).join('');
    const losses: unknown[] = [];
    let isRemoved = false;
    const remove = async () => {
      if (isRemoved) return;
      isRemoved = true;
      const tag = await imports.catalog.tags.findByName(acme.id, 'red');
      const folder = await imports.catalog.folders.findByName(acme.id, 'Campaigns');
      await imports.catalog.tags.remove(acme.id, tag?.id ?? '');
      await imports.catalog.folders.remove(acme.id, folder?.id ?? '');
    };
    const result = await imports.table(acme, `url,key,tags,folder\n${rows}`, {
      report: { rejected: async () => undefined, lost: async (loss) => void losses.push(loss), progress: remove },
    });
    expect(result).toMatchObject({ created: 150, rejected: 0 });
    expect(losses.length).toBe(100);
    const reason = 'was deleted during the import';
    expect(losses.slice(0, 2)).toEqual([
      { row: 102, link: `${acme.host}/k100`, field: 'tags', value: 'red', reason },
      { row: 102, link: `${acme.host}/k100`, field: 'folder', value: 'Campaigns', reason },
    ]);
  });
});
