import { API_READ, normaliseKey, type WorkspaceRecord } from '@waymark/catalog';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { importLinks, openFile, parseDomainMap } from '../../src/index.js';
import { startImports, type TestImport } from './test-import.js';

describe('an import', () => {
  let imports: TestImport;
  beforeAll(async () => {
    imports = await startImports();
  });
  afterAll(() => imports.close());

  const find = (domain: string, key: string) =>
    imports.catalog.links.findByAddress(domain, normaliseKey(key), API_READ);
  async function objectOf(workspace: WorkspaceRecord, domain: string, key: string) {
    const record = await find(domain, key);
    const [link] = await imports.catalog.links.objects(workspace.id, record ? [record] : [], { hidesPasswords: false });
    return link;
  }
  /** Without the root link of the domain. */
  const linkCount = async ({ id }: WorkspaceRecord) =>
    (await imports.catalog.links.count(id, { showArchived: true })) - 1;

  it('makes links with their fields, tags, folder and time, on domains that it makes as needed', async () => {
    const acme = await imports.workspace();
    const old = `old.${acme.host}`;
    const result = await imports.table(
      acme,
      `short link,url,title,tags,folder,created,archived,password,geo,ip\nhttps://${old}/Spring/Sale,https://acme.com/?utm_source=x,Sale,"a|b",Campaigns,2020-01-02T03:04:05Z,true,open,"{""DE"":""https://acme.de""}",::1\n`,
      { tags: ['imported'] },
    );
    expect(result).toMatchObject({ rows: 1, created: 1, updated: 0, skipped: 0, rejected: 0 });
    expect(result.losses).toEqual([
      { row: 2, link: `${old}/Spring/Sale`, field: 'ip', value: '::1', reason: 'has no place here' },
    ]);
    const link = await objectOf(acme, old, 'Spring/Sale');
    expect(link).toMatchObject({
      ...{ key: 'Spring/Sale', url: 'https://acme.com/?utm_source=x', title: 'Sale', archived: true, password: 'open' },
      ...{ createdAt: '2020-01-02T03:04:05.000Z', utm_source: 'x', geo: { DE: 'https://acme.de' }, clicks: 0 },
    });
    expect(link?.tags.map(({ name }) => name)).toEqual(['imported', 'a', 'b']);
    const folder = await imports.catalog.folders.findByName(acme.id, 'Campaigns');
    expect(link?.folderId).toBe(folder?.id);
    expect((await imports.catalog.domains.findBySlug(old, API_READ))?.workspaceId).toBe(acme.id);
  });

  it('takes a UTM value that is longer than allowed if the destination has it, also one without a scheme', async () => {
    const acme = await imports.workspace();
    const long = 'x'.repeat(300);
    const rows = ['https://acme.com/', 'acme.com/'].map((url, row) => `${url}?utm_source=${long},key${row},${long}`);
    const result = await imports.table(acme, ['url,key,utm_source', ...rows, `acme.com,key2,${long}`].join('\n'));
    expect(result).toMatchObject({
      created: 2,
      rejections: [{ row: 4, reason: expect.stringContaining('utm_source') }],
    });
    expect((await objectOf(acme, acme.host, 'key1'))?.url).toBe(`https://acme.com/?utm_source=${long}`);
  });

  it('makes nothing when it runs again, also with update and fail, and for rows without a key', async () => {
    const acme = await imports.workspace();
    const table = 'url,key,title,tags\nhttps://a.test,a,A,x\nhttps://b.test,,B,\n';
    expect(await imports.table(acme, table)).toMatchObject({ created: 2 });
    const before = await find(acme.host, 'a');
    for (const onConflict of ['skip', 'update', 'fail'] as const) {
      expect(await imports.table(acme, table, { onConflict })).toMatchObject({ created: 0, updated: 0, skipped: 2 });
    }
    expect(await linkCount(acme)).toBe(2);
    expect((await find(acme.host, 'a'))?.updatedAt).toBe(before?.updatedAt);
  });

  it('makes each link, tag and domain once when two processes import the same table at the same time, and loses none', async () => {
    const acme = await imports.workspace();
    const host = `both.${acme.host}`;
    const rows = Array.from(
      { length: 300 },
      (_, index) => `https://a.test/${index},k${index},${host},t${index % 60},F`,
    );
    const table = `url,key,domain,tags,folder\n${rows.join('\n')}\n`;
    const other = { catalog: imports.otherCatalog(), defaultDomain: undefined, now: Date.now };
    const results = await Promise.all([imports.table(acme, table), imports.table(acme, table, { deps: other })]);
    expect(results.flatMap(({ rejections, losses }) => [...rejections, ...losses])).toEqual([]);
    const sum = (end: 'created' | 'skipped') => results.reduce((total, result) => total + result[end], 0);
    expect([sum('created'), sum('skipped')]).toEqual([300, 300]);
    expect(await imports.catalog.links.count(acme.id, { showArchived: true, domain: host })).toBe(301);
    expect((await objectOf(acme, host, 'k61'))?.tags.map(({ name }) => name)).toEqual(['t1']);
  });

  it('skips, updates or ends at a link that exists and differs, according to onConflict', async () => {
    const acme = await imports.workspace();
    await imports.table(acme, 'url,key,title\nhttps://a.test,a,A\n');
    const table = 'url,key,title\nhttps://new.test,new,N\nhttps://other.test,a,Other\n';
    await expect(imports.table(acme, table, { onConflict: 'fail' })).rejects.toThrow(
      `row 3: the link ${acme.host}/a exists already and differs`,
    );
    const skipped = await imports.table(acme, table, { onConflict: 'skip' });
    expect([skipped.skipped + skipped.created, skipped.losses.at(-1)?.reason]).toEqual([2, 'exists and differs']);
    expect((await find(acme.host, 'a'))?.url).toBe('https://a.test');
    expect(await imports.table(acme, table, { onConflict: 'update' })).toMatchObject({ updated: 1, skipped: 1 });
    expect(await find(acme.host, 'a')).toMatchObject({ url: 'https://other.test', title: 'Other' });
  });

  it('takes with update what the source has cleared, and nothing that it does not have', async () => {
    const acme = await imports.workspace();
    const full = {
      ...{
        title: 'T',
        comments: 'c',
        expiresAt: '2036-01-01T00:00:00.000Z',
        password: 'secret',
        archived: true,
        proxy: true,
      },
      ...{
        ios: 'https://i.test',
        geo: { FR: 'https://fr.test' },
        trackConversion: true,
        externalId: 'e1',
        folderId: 'f1',
      },
      ...{ testVariants: [1, 2].map((n) => ({ url: `https://v${n}.test`, percentage: 50 })), tags: [{ name: 'red' }] },
    };
    const none = Object.fromEntries(
      Object.entries(full).map(([name, value]) => [name, value === true ? false : name === 'tags' ? [] : null]),
    );
    const link = { id: 'link_1', url: 'https://a.test', key: 'a' };
    async function run(record: object, onConflict: 'skip' | 'update' | 'fail') {
      const { mapRecord } = openFile('dub', 'ndjson', (async function* () {})());
      async function* rows() {
        yield { row: 1, record };
      }
      return importLinks(rows(), {
        deps: { catalog: imports.catalog, defaultDomain: undefined, now: Date.now },
        author: { workspace: acme, apiKey: { role: 'owner', scopes: [], userId: null } },
        ...{ source: 'dub', mapRecord, mapping: { folderNames: new Map([['f1', 'Campaigns']]) }, onConflict },
        ...{ domains: parseDomainMap([]), tags: [], history: 'none', isDry: false },
        report: { rejected: async () => undefined, lost: async () => undefined, progress: () => undefined },
      });
    }
    expect(await run({ ...link, ...full }, 'skip')).toMatchObject({ created: 1 });
    const made = await find(acme.host, 'a');
    expect(made).toMatchObject({
      title: 'T',
      archived: true,
      folderId: expect.any(String),
      tagIds: [expect.any(String)],
    });
    // Without the fields, as a table without their columns.
    expect(await run(link, 'update')).toMatchObject({ skipped: 1 });
    await expect(run({ ...link, ...full, password: null }, 'fail')).rejects.toThrow('exists already and differs');
    expect(await run({ ...link, ...none }, 'update')).toMatchObject({ updated: 1, rejected: 0 });
    expect(await find(acme.host, 'a')).toMatchObject({
      ...{ title: null, comments: null, expiresAt: null, encryptedPassword: null, archived: false, proxy: false },
      ...{
        ios: null,
        geo: null,
        trackConversion: false,
        testVariants: null,
        folderId: null,
        tagIds: [],
        externalId: 'e1',
      },
    });
    expect(await run({ ...link, ...none }, 'update')).toMatchObject({ skipped: 1 });
    // A hidden password, and a folder that the key may not read, are not gone.
    await run({ ...link, ...full }, 'update');
    expect(await run({ ...link, ...full, password: '********', folderId: 'f2' }, 'update')).toMatchObject({
      skipped: 1,
    });
  });

  it('takes with update what a table has columns for', async () => {
    const acme = await imports.workspace();
    const table = (values: string) => `url,key,title,archived,tags\nhttps://a.test,a,${values}\n`;
    await imports.table(acme, table('T,true,red'));
    expect(await imports.table(acme, 'url,key\nhttps://a.test,a\n', { onConflict: 'update' })).toMatchObject({
      skipped: 1,
    });
    expect(await imports.table(acme, table(',false,'), { onConflict: 'update' })).toMatchObject({ updated: 1 });
    expect(await find(acme.host, 'a')).toMatchObject({ title: null, archived: false, tagIds: [] });
  });

  it('reports no id and no time of change of a table that was exported here', async () => {
    const acme = await imports.workspace();
    const table = 'id,url,key,updatedAt,remark\nlink_1,https://a.test,a,2026-01-01T00:00:00.000Z,mine\n';
    const { losses } = await imports.table(acme, table);
    expect(losses.map(({ field }) => field)).toEqual(['remark']);
  });

  it('updates the links of a batch in one insert, and those that can be when one is refused', async () => {
    const acme = await imports.workspace();
    const keys = Array.from({ length: 100 }, (_, index) => `k${index}`);
    const table = (title: string, idOf: (key: string) => string) =>
      `url,key,title,externalId\n${keys.map((key) => `https://a.test,${key},${title},${idOf(key)}\n`).join('')}`;
    await imports.table(
      acme,
      table('A', (key) => `id-${key}`),
    );
    const updateMany = vi.spyOn(imports.catalog.links, 'updateMany');
    onTestFinished(() => updateMany.mockRestore());
    expect(
      await imports.table(
        acme,
        table('B', (key) => `id-${key}`),
        { onConflict: 'update' },
      ),
    ).toMatchObject({
      updated: 100,
      rejected: 0,
    });
    expect(updateMany).toHaveBeenCalledTimes(1);
    const taken = table('C', (key) => (key === 'k7' ? 'id-k8' : `id-${key}`));
    const refused = await imports.table(acme, taken, { onConflict: 'update' });
    expect(refused).toMatchObject({ updated: 99, rejected: 1 });
    expect(refused.rejections).toMatchObject([{ row: 9, reason: expect.stringContaining('"id-k8" already exists') }]);
    expect((await find(acme.host, 'k7'))?.title).toBe('B');
    expect((await find(acme.host, 'k8'))?.title).toBe('C');
  });

  it('rejects wrong rows with number and reason, and makes the others', async () => {
    const acme = await imports.workspace();
    const other = await imports.workspace();
    const result = await imports.table(
      acme,
      [
        ...['url,key,domain,created', 'https://a.test,fine,,', 'not a url,b,,', ',c,,', 'https://a.test,sp ace,,'],
        ...['https://a.test,d,,10/26/2020', `https://a.test,e,${other.host},`, 'https://a.test,f,bit.ly,'],
        ...['https://a.test,FINE,,', 'https://a.test,g,no domain,', 'https://a.test,h,,,x'],
      ].join('\n'),
    );
    expect(result).toMatchObject({ rows: 10, created: 1, rejected: 9 });
    const reasons = new Map(result.rejections.map(({ row, reason }) => [row, reason]));
    const parts = [
      ...[
        'url: must be a URL',
        'url is missing',
        'must have no other characters than letters',
        'must be a time such as',
      ],
      ...['does not belong to this workspace', 'links of bit.ly need a domain of yours', 'differs only in case'],
      ...['must be a domain name', 'has 5 columns'],
    ];
    for (const [index, part] of parts.entries()) expect(reasons.get(index + 3), `row ${index + 3}`).toContain(part);
  });

  it('keeps the encoding that dub gives a key, rejects the same key in another one, and finds the link by both', async () => {
    const acme = await imports.workspace();
    const table = 'url,key\nhttps://a.test,xn--blog/mnchen-yhb\nhttps://b.test,blog/münchen\n';
    const result = await imports.table(acme, table);
    expect(result).toMatchObject({ created: 1, rejected: 1, rejections: [{ row: 3 }] });
    expect(result.rejections[0]?.reason).toContain('already exists');
    expect(await find(acme.host, 'blog/münchen')).toMatchObject({ key: 'xn--blog/mnchen-yhb', url: 'https://a.test' });
    const again = await imports.table(acme, table);
    expect(again).toMatchObject({ created: 0, skipped: 1, rejected: 1 });
    expect(again.rejections[0]?.reason).toBe(
      `The key differs only in how it is encoded from that of the link ${acme.host}/xn--blog/mnchen-yhb.`,
    );
  });

  it('gives a link to the partner who has its tenant id', async () => {
    const acme = await imports.workspace();
    const partner = await imports.catalog.partners.create(acme.id, {
      name: 'A',
      programId: null,
      tenantId: 'tenant-1',
    });
    const table = 'url,key,tenantId\nhttps://a.test,one,tenant-1\nhttps://a.test,two,tenant-2\n';
    expect(await imports.table(acme, table)).toMatchObject({ created: 2, rejected: 0 });
    expect((await find(acme.host, 'one'))?.partnerId).toBe(partner.id);
    expect(await find(acme.host, 'two')).toMatchObject({ partnerId: null, tenantId: 'tenant-2' });
  });

  it('takes with update neither tenant nor conversion tracking from a link of a partner, whom the source names otherwise', async () => {
    const acme = await imports.workspace();
    const partner = await imports.catalog.partners.create(acme.id, {
      name: 'A',
      programId: null,
      tenantId: 'tenant-1',
    });
    const table = (title: string, tenantId: string, isTracked: boolean) =>
      `url,key,title,tenantId,trackConversion\nhttps://a.test,one,${title},${tenantId},${isTracked}\n`;
    await imports.table(acme, table('A', 'tenant-1', true));
    const options = { onConflict: 'update' } as const;
    expect(await imports.table(acme, table('', '', false), options)).toMatchObject({ updated: 1 });
    expect(await find(acme.host, 'one')).toMatchObject({
      ...{ title: null, partnerId: partner.id, tenantId: 'tenant-1', trackConversion: true },
    });
    expect(await imports.table(acme, table('', '', false), options)).toMatchObject({ skipped: 1 });
  });

  it.each(['dub.link', 'git.new', 'WWW.Fig.page'])('makes no domain %s, which nobody can move here', async (domain) => {
    const acme = await imports.workspace();
    const { created, rejections } = await imports.table(acme, `url,key,domain\nhttps://a.test,a,${domain}\n`);
    expect([created, rejections[0]?.reason]).toEqual([0, expect.stringContaining('need a domain of yours')]);
  });

  it('makes no domain with the host of the default domain, which has a port', async () => {
    const acme = await imports.workspace();
    const shared = `shared.${acme.host}`;
    const deps = { catalog: imports.catalog, defaultDomain: `${shared}:8443`, now: Date.now };
    const { created, rejections } = await imports.table(acme, `short link,url\n${shared}/a,https://a.com\n`, { deps });
    expect([created, rejections.map(({ reason }) => reason)]).toEqual([
      0,
      [`The domain "${shared}" is already in use.`],
    ]);
    expect(await imports.catalog.domains.findBySlug(shared, API_READ)).toBeUndefined();
  });

  it('rejects a domain with the host of another workspace’s domain, which has a port, also in a dry run', async () => {
    const acme = await imports.workspace();
    const taken = `taken.${acme.host}`;
    await imports.catalog.domains.create((await imports.workspace()).id, { slug: `${taken}:8443` });
    for (const isDry of [true, false]) {
      const { created, rejections } = await imports.table(acme, `short link,url\n${taken}/a,https://a.com\n`, {
        isDry,
      });
      expect([created, rejections.map(({ reason }) => reason)]).toEqual([
        0,
        [`The domain "${taken}" is already in use.`],
      ]);
    }
  });

  it('in a dry run counts what it would do, and creates no link, tag, folder or domain', async () => {
    const acme = await imports.workspace();
    const table = `url,key,tags,folder,domain\nhttps://a.test,a,new,F,dry.${acme.host}\nhttps://b.test,b,,,\nno url,c,,,\n`;
    const result = await imports.table(acme, table, { isDry: true });
    expect(result).toMatchObject({ rows: 3, created: 2, rejected: 1 });
    expect(await linkCount(acme)).toBe(0);
    expect(await imports.catalog.tags.findByName(acme.id, 'new')).toBeUndefined();
    expect(await imports.catalog.folders.findByName(acme.id, 'F')).toBeUndefined();
    expect(await imports.catalog.domains.findBySlug(`dry.${acme.host}`, API_READ)).toBeUndefined();
  });

  it('keeps within the quotas and the gates of the plan; links that fit are made', async () => {
    const acme = await imports.workspace('free');
    await imports.catalog.workspaces.update(acme.id, { quotas: { linksPerMonth: 2, tags: 1 } });
    const limited = (await imports.catalog.workspaces.get(acme.id)) as WorkspaceRecord;
    const result = await imports.table(
      limited,
      'url,key,tags,password\nhttps://a.test,aaaa,one|two,\nhttps://b.test,bbbb,,secret\nhttps://c.test,cccc,,\nhttps://d.test,dddd,,\n',
    );
    expect(result).toMatchObject({ created: 2, rejected: 2 });
    expect(result.rejections.map(({ row, reason }) => [row, reason])).toEqual([
      [3, '"password" needs the plan pro or higher.'],
      [5, 'This workspace may create 2 links a month.'],
    ]);
    expect(result.losses).toMatchObject([{ row: 2, field: 'tags', value: 'two' }]);
    const again = await imports.table(limited, 'url,key\nhttps://a.test,aaaa\nhttps://e.test,eeee\n');
    expect(again).toMatchObject({ skipped: 1, created: 0, rejected: 1 });
  });

  it('adds the counts of the source to the counters of the link, once, and never to events', async () => {
    const acme = await imports.workspace();
    const table = 'url,key,clicks,leads,sales,saleAmount\nhttps://a.test,a,41,5,2,4900\nhttps://b.test,b,,,,\n';
    await imports.table(acme, table, { history: 'counts' });
    expect(await imports.table(acme, table, { history: 'counts', onConflict: 'update' })).toMatchObject({ skipped: 2 });
    const counters = { clicks: 41, leads: 5, conversions: 0, sales: 2, saleAmount: 4900, lastClicked: null };
    expect(await objectOf(acme, acme.host, 'a')).toMatchObject(counters);
    expect((await find(acme.host, 'a'))?.baseline).toMatchObject({ source: 'csv', clicks: 41 });
    expect((await find(acme.host, 'b'))?.baseline).toBeUndefined();
    const later = table.replace(',41,', ',50,');
    expect(await imports.table(acme, later, { history: 'counts', onConflict: 'update' })).toMatchObject({ updated: 1 });
    expect(await objectOf(acme, acme.host, 'a')).toMatchObject({ ...counters, clicks: 50 });
  });

  it('takes an empty path for the root link, so that one of the shared domain is rejected and makes no random key', async () => {
    const acme = await imports.workspace();
    const { mapRecord } = openFile('csv', 'csv', (async function* () {})());
    const options = {
      deps: { catalog: imports.catalog, defaultDomain: 'shared.example', now: Date.now },
      mapRecord: (...args: Parameters<typeof mapRecord>) => mapRecord(...args).map((link) => ({ ...link, key: '' })),
    };
    const table = (domain: string) => `url,domain\nhttps://home.test,${domain}\n`;
    expect(await imports.table(acme, table('shared.example'), options)).toMatchObject({ created: 0, rejected: 1 });
    expect(await imports.table(acme, table(acme.host), options)).toMatchObject({ created: 0, updated: 1 });
    expect((await find(acme.host, '_root'))?.url).toBe('https://home.test');
  });

  it('sets the destination of a domain by its root link, and maps domains', async () => {
    const acme = await imports.workspace();
    const domains = [`bit.ly=${acme.host}`];
    const table = 'url,key,domain\nhttps://home.test,_root,bit.ly\nhttps://a.test,x,bit.ly\n';
    expect(await imports.table(acme, table, { domains })).toMatchObject({ created: 1, updated: 1 });
    expect((await find(acme.host, '_root'))?.url).toBe('https://home.test');
    expect((await find(acme.host, 'x'))?.url).toBe('https://a.test');
    expect(await imports.table(acme, table, { domains })).toMatchObject({ skipped: 2 });
  });

  it('takes the last of two rows of one address with update, and the first with skip', async () => {
    const acme = await imports.workspace();
    const table = 'url,key\nhttps://a.test,a\nhttps://b.test,a\n';
    expect(await imports.table(acme, table)).toMatchObject({ created: 1, skipped: 1 });
    expect((await find(acme.host, 'a'))?.url).toBe('https://a.test');
    expect(await imports.table(acme, table, { onConflict: 'update' })).toMatchObject({ updated: 1, skipped: 1 });
    expect((await find(acme.host, 'a'))?.url).toBe('https://b.test');
  });
});
