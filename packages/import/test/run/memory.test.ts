import { ApiError } from '@waymark/contract';
import type { LinkAuthor, LinkRuleDeps } from '@waymark/link-rules';
import { describe, expect, it } from 'vitest';
import { nextCursor } from '../../src/apis/dub-cursors.js';
import { oneByOne } from '../../src/apis/one-by-one.js';
import { shortId } from '../../src/apis/pages.js';
import { readYourlsDump } from '../../src/files/read-sql.js';
import { yourlsHistory } from '../../src/history/yourls-history.js';
import { ImportError } from '../../src/model/import-error.js';
import { createReferencedResources } from '../../src/run/referenced-resources.js';
import { createReportLines } from '../../src/run/report-lines.js';

async function* chunksOf(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('a source whose texts are long does not fill the memory', () => {
  it('after a refused request: few long links are kept back', async () => {
    let read = 0;
    async function* pages() {
      for (; read < 100; read++) yield [{ title: 'x'.repeat(1_000_000), isRefused: read === 0 }];
    }
    const links = oneByOne(pages(), 0, {
      field: 'rules',
      read: (link) =>
        (link as { isRefused: boolean }).isRefused ? Promise.reject(new ImportError('no', 403)) : undefined,
    });
    expect((await links.next()).value).toHaveLength(8);
    expect(read).toBe(7);
  });

  it('with ids that are compared later', () => {
    expect(shortId('abc')).toBe('abc');
    expect(shortId('x'.repeat(1_000)).length).toBeLessThan(50);
    expect(shortId('x'.repeat(1_000))).not.toBe(shortId('x'.repeat(1_001)));
  });

  it('with ids at which a list continues', () => {
    const [long, short] = [{ id: 'x'.repeat(10_000) }, { id: 'a' }];
    expect(nextCursor(undefined, [long, short])).toMatchObject({ id: 'a', nearby: [] });
    expect(() => nextCursor(undefined, [short, long])).toThrow('no ids of their own');
  });

  it('with domains, which are not looked up if they are too long', async () => {
    let lookUps = 0;
    const domains = {
      async findBySlug() {
        lookUps++;
        throw new ApiError('not_found', 'none');
      },
    };
    const resources = createReferencedResources(
      { catalog: { domains }, defaultDomain: undefined } as unknown as LinkRuleDeps,
      { workspace: { id: 'ws_1', plan: 'pro' } } as unknown as LinkAuthor,
      false,
    );
    await expect(resources.domain(`${'x'.repeat(200)}.example`)).rejects.toThrow('at most 190 characters');
    await expect(resources.domain('go.example')).rejects.toThrow('none');
    expect(lookUps).toBe(1);
  });

  it('with names of fields, which are columns of the report for a table only', () => {
    const rejection = { row: 1, reason: 'no', record: { ['x'.repeat(1_000)]: 1 } };
    const [ofApi, ofTable] = [createReportLines(false), createReportLines(true)];
    ofApi.rejected(rejection);
    ofTable.rejected(rejection);
    expect([ofApi.state().columns, ofTable.state().columns.length]).toEqual([[], 1]);
  });

  it('in a log: fewer rows are read together', async () => {
    const line = JSON.stringify({
      ...{ click_id: '1', click_time: '2020-01-01 00:00:00', shorturl: 'a' },
      user_agent: 'x'.repeat(3_000_000),
    });
    const history = yourlsHistory({
      ...{ format: 'ndjson', timezone: 'UTC', identity: 'log' },
      open: () => chunksOf(...Array(5).fill(`${line}\n`)),
    });
    const pages = await all(history.read(undefined));
    expect(pages.map(({ items }) => items.length)).toEqual([3, 2]);
  });

  it.each([
    ['a value without quotes', 'x'.repeat(1_100_000), 'has a value of more than 1 MB'],
    ['values', ','.repeat(4_100_000), 'has more than 4 MB'],
  ])('in a dump with a row of too long %s', async (_what, row, message) => {
    const dump = chunksOf("INSERT INTO `yourls_url` VALUES ('a','b','c','d','e',1),(", row, ');');
    await expect(all(readYourlsDump(dump))).rejects.toThrow(`row 2 of the dump ${message}`);
  });
});
