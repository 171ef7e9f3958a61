import { API_READ, normaliseKey } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startImports, type TestImport } from './test-import.js';

describe('values that an import refuses', () => {
  let imports: TestImport;
  beforeAll(async () => {
    imports = await startImports();
  });
  afterAll(() => imports.close());

  const find = (domain: string, key: string) =>
    imports.catalog.links.findByAddress(domain, normaliseKey(key), API_READ);

  it('makes a link without the values that it does not need and that are refused, and reports them', async () => {
    const acme = await imports.workspace();
    const variants = (...percentages: number[]) =>
      JSON.stringify(percentages.map((percentage, n) => ({ url: `https://v${n}.test`, percentage })));
    const columns = 'url,key,trackConversion,testVariants,testCompletedAt,geo,image,ios,proxy';
    const row = (...values: string[]) => values.map((value) => `"${value.replaceAll('"', '""')}"`).join(',');
    const { created, rejected, losses } = await imports.table(
      acme,
      [
        columns,
        row('https://a.test', 'a', 'true', variants(50, 40), '2030-01-01', '', '', '', ''),
        row('https://b.test', 'b', '', variants(50, 50), '2030-01-01', '', '', '', ''),
        row('https://c.test', 'c', '', '', '', '{"us":"https://us.test","DE":"https://de.test"}', '', '', ''),
        row('https://d.test', 'd', '', '', '', '{"uk":"https://uk.test"}', 'http://127.0.0.1/a.png', 'no url', ''),
        row('https://e.test', 'e', '', '', '', '', 'data:image/png;base64,iVBORw0KGgo=', '', 'true'),
        row('no url', 'f', '', '', '', '{"us":"https://us.test"}', '', '', ''),
      ].join('\n'),
    );
    expect([created, rejected]).toEqual([5, 1]);
    expect(losses.map(({ row, field, reason }) => [row, field, reason])).toEqual([
      [2, 'testVariants', 'invalid_value: testVariants: must have percentages that add up to 100'],
      [3, 'testVariants', 'invalid_combination: testVariants: needs trackConversion to be true'],
      [4, 'geo.us', 'invalid_format: geo.us: its name must be two upper-case letters'],
      [5, 'ios', 'invalid_format: ios: must be a URL'],
      [5, 'image', 'invalid_value: image: must be a URL whose host is a public name'],
      [5, 'geo.uk', 'invalid_format: geo.uk: its name must be two upper-case letters'],
      [6, 'image', expect.stringContaining('must be an http or https URL')],
    ]);
    expect(await find(acme.host, 'a')).toMatchObject({
      ...{ trackConversion: true, testVariants: null, testCompletedAt: null },
    });
    expect(await find(acme.host, 'c')).toMatchObject({ geo: { DE: 'https://de.test' } });
    expect(await find(acme.host, 'd')).toMatchObject({ geo: null, image: null, ios: null });
    expect(await find(acme.host, 'e')).toMatchObject({ image: null, proxy: true });
  });

  it('updates what only a new link may not have: variants of a link that tracks, and an image as data URL', async () => {
    const acme = await imports.workspace();
    const image = 'data:image/png;base64,iVBORw0KGgo=';
    await imports.table(acme, 'url,key,proxy,trackConversion\nhttps://a.test,a,true,true\n');
    const variants = [1, 2].map((n) => ({ url: `https://v${n}.test/`, percentage: 50 }));
    const cell = `"${JSON.stringify(variants).replaceAll('"', '""')}"`;
    const row = `url,key,proxy,testVariants,image\nhttps://a.test,a,true,${cell},"${image}"\n`;
    expect(await imports.table(acme, row, { onConflict: 'update' })).toMatchObject({ updated: 1, losses: [] });
    expect(await find(acme.host, 'a')).toMatchObject({ image, testVariants: variants });
    expect(await imports.table(acme, row)).toMatchObject({ skipped: 1, losses: [] });
  });

  it('leaves with update what a link has in place of a refused value', async () => {
    const acme = await imports.workspace();
    const table = (title: string, geo: string) =>
      `url,key,title,geo,image\nhttps://a.test,a,${title},"{""${geo}"":""https://de.test""}",https://a.test/${geo}.png\n`;
    await imports.table(acme, table('One', 'DE'));
    const options = { onConflict: 'update' } as const;
    expect(await imports.table(acme, table('Two', 'de'), options)).toMatchObject({ updated: 1, rejected: 0 });
    expect(await find(acme.host, 'a')).toMatchObject({
      ...{ title: 'Two', geo: { DE: 'https://de.test' }, image: 'https://a.test/de.png' },
    });
  });

  it('rejects a row with more tags than a link may have, and makes none of them', async () => {
    const acme = await imports.workspace();
    const tags = Array.from({ length: 1_001 }, (_, index) => `t${index}`).join('|');
    const result = await imports.table(acme, `url,key,tags\nhttps://a.test,many,${tags}\n`);
    expect(result).toMatchObject({ created: 0, rejected: 1, rejections: [{ reason: 'tags: more than 1000' }] });
    expect(await imports.catalog.tags.findByName(acme.id, 't0')).toBeUndefined();
  });

  it('makes no tag, folder or domain of a row whose fields are too long', async () => {
    const acme = await imports.workspace();
    const domain = `long.${acme.host}`;
    const table = `url,key,tags,folder,domain,title\nhttps://a.test,long,lone,Lone,${domain},${'x'.repeat(32_001)}\n`;
    const result = await imports.table(acme, table);
    expect(result).toMatchObject({
      created: 0,
      rejected: 1,
      rejections: [{ reason: expect.stringContaining('title') }],
    });
    expect(await imports.catalog.tags.findByName(acme.id, 'lone')).toBeUndefined();
    expect(await imports.catalog.folders.findByName(acme.id, 'Lone')).toBeUndefined();
    expect(await imports.catalog.domains.findBySlug(domain, API_READ)).toBeUndefined();
  });

  it('rejects a row whose address belongs to another workspace, whether it differs or not', async () => {
    const [acme, other] = [await imports.workspace(), await imports.workspace()];
    const deps = { catalog: imports.catalog, defaultDomain: 'shared.example', now: Date.now };
    const table = (url: string) => `url,key,domain\n${url},taken,shared.example\n`;
    expect(await imports.table(other, table('https://other.test'), { deps })).toMatchObject({ created: 1 });
    const reason = 'The link shared.example/taken belongs to another workspace.';
    for (const onConflict of ['skip', 'update', 'fail'] as const) {
      for (const url of ['https://other.test', 'https://acme.test']) {
        const { rejections } = await imports.table(acme, table(url), { deps, onConflict });
        expect(rejections).toMatchObject([{ reason }]);
      }
    }
    expect(await find('shared.example', 'taken')).toMatchObject({ workspaceId: other.id, url: 'https://other.test' });
  });
});
