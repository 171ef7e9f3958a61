import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type ImportCounts, openApi } from '../../src/index.js';
import { KEY, NOW, outbound } from '../apis/read-api.js';
import { startStub } from '../apis/stub-server.js';
import { startImports, type TestImport } from './test-import.js';

let imports: TestImport;
beforeAll(async () => {
  imports = await startImports();
});
afterAll(() => imports.close());

/** The number of links besides the one of the domain itself. */
const linkCount = async (workspaceId: string) =>
  (await imports.catalog.links.count(workspaceId, { showArchived: true })) - 1;

describe('an import that an error ends', () => {
  it('has created the links before twenty refusals in a row, and has reported them', async () => {
    const acme = await imports.workspace();
    const stub = await startStub(({ path }) => {
      if (path === '/groups') return { json: { groups: [{ guid: 'g1' }] } };
      const number = Number(/b\.test\/k(\d+)\//.exec(path)?.[1]);
      if (path.endsWith('/summary')) return number > 30 ? { status: 402, json: {} } : { json: { total_clicks: 1 } };
      const links = Array.from({ length: 50 }, (_, n) => ({ id: `b.test/k${n + 1}`, long_url: 'https://a.test' }));
      return { json: { links } };
    });
    onTestFinished(() => stub.close());
    const source = await openApi({
      ...{ source: 'bitly', address: stub.address, credential: KEY, outbound, readsCounts: true },
      ...{ now: () => NOW, wait: async () => undefined },
    });
    const reported: [ImportCounts, number][] = [];
    const report = {
      ...{ rejected: async () => undefined, lost: async () => undefined },
      progress: (counts: ImportCounts, row: number) => void reported.push([counts, row]),
    };
    const options = { source: 'bitly', domains: [`b.test=${acme.host}`], history: 'counts', report } as const;
    await expect(imports.run(acme, source, options)).rejects.toThrow('402');
    expect(reported.at(-1)).toEqual([expect.objectContaining({ rows: 30, created: 30 }), 30]);
    expect(await linkCount(acme.id)).toBe(30);
  });

  it('has created the links before one that exists and differs, and none behind it; resumed after a kill, it ends there again', async () => {
    const acme = await imports.workspace();
    await imports.table(acme, 'url,key\nhttps://a.test,k40\n');
    const rows = Array.from({ length: 80 }, (_, n) => `https://a.test/${n},k${n}\n`).join('');
    const reported: [ImportCounts, number][] = [];
    const report = {
      ...{ rejected: async () => undefined, lost: async () => undefined },
      progress: (counts: ImportCounts, row: number) => void reported.push([counts, row]),
    };
    const run = (options: object) =>
      imports.table(acme, `url,key\n${rows}`, { onConflict: 'fail', report, ...options });
    const message = `row 42: the link ${acme.host}/k40 exists already and differs`;
    await expect(run({})).rejects.toThrow(message);
    const [counts, row] = reported.at(-1) as [ImportCounts, number];
    expect([counts.created, row]).toEqual([40, 41]);
    expect(await linkCount(acme.id)).toBe(41);
    await expect(run({ position: { row, counts, atMs: Date.now() } })).rejects.toThrow(message);
    expect(await linkCount(acme.id)).toBe(41);
  });

  it('at a link that differs counts and reports the rejected rows before it, and none of those behind it', async () => {
    const acme = await imports.workspace();
    await imports.table(acme, 'url,key\nhttps://a.test,old\n');
    const rejectedRows: number[] = [];
    const reported: [ImportCounts, number][] = [];
    const report = {
      rejected: async ({ row }: { row: number }) => void rejectedRows.push(row),
      lost: async () => undefined,
      progress: (counts: ImportCounts, row: number) => void reported.push([counts, row]),
    };
    const table = 'url,key\nhttps://a.test/1,k1\n,k2\nhttps://b.test,old\n,k3\n,k4\n';
    await expect(imports.table(acme, table, { onConflict: 'fail', report })).rejects.toThrow('row 4: the link');
    expect(reported.at(-1)).toEqual([{ rows: 2, created: 1, updated: 0, skipped: 0, rejected: 1 }, 3]);
    expect(rejectedRows).toEqual([3]);
  });
});
