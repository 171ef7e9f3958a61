import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCsv } from '../../src/files/read-csv.js';
import { readNdjson } from '../../src/files/read-ndjson.js';
import { readYourlsDump } from '../../src/files/read-sql.js';
import type { SourceRow } from '../../src/model/source-link.js';

async function* chunksOf(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function rowsOf(
  read: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<SourceRow>,
  content: string | Uint8Array,
  size = 7,
) {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const rows: SourceRow[] = [];
  for await (const row of read(chunksOf(bytes, size))) rows.push(row);
  return rows;
}

describe('a table', () => {
  it.each([[','], [';'], ['\t']])(
    'is read with the delimiter %j, a byte-order mark and quoted newlines',
    async (delimiter) => {
      const lines = [
        ['key', 'Long URL', 'title'],
        ['a', 'https://acme.com/?x=1', '"two\nlines ""quoted"""'],
        ['b', 'https://b.test', 'é'],
      ];
      const rows = await rowsOf(readCsv, `\ufeff${lines.map((line) => line.join(delimiter)).join('\r\n')}`);
      expect(rows).toEqual([
        { row: 2, record: { key: 'a', url: 'https://acme.com/?x=1', title: 'two\nlines "quoted"' } },
        { row: 3, record: { key: 'b', url: 'https://b.test', title: 'é' } },
      ]);
    },
  );

  it.each([
    ['\n', '\r\n'],
    ['\r\n', '\n'],
    ['\r', '\r'],
  ])('is read with %j behind its heading, and %j behind its rows', async (first, other) => {
    const lines = [
      'https://a.test,a,x',
      'https://b.test,b,"y"',
      '"https://c.test",c,"two\r\nlines"',
      'https://d.test,d,"',
    ];
    for (const size of [1, 7, 65_536]) {
      const rows = await rowsOf(readCsv, `url,key,password${first}${lines.map((line) => line + other).join('')}`, size);
      expect(rows).toEqual([
        { row: 2, record: { url: 'https://a.test', key: 'a', password: 'x' } },
        { row: 3, record: { url: 'https://b.test', key: 'b', password: 'y' } },
        { row: 4, record: { url: 'https://c.test', key: 'c', password: 'two\r\nlines' } },
        expect.objectContaining({ row: 5, record: 'https://d.test,d,"', error: 'a quote is opened and never closed' }),
      ]);
    }
    const alone = await rowsOf(readCsv, `url${first}https://a.test/x${other}https://b.test/y${other}`);
    expect(alone.map(({ record }) => record)).toEqual([{ url: 'https://a.test/x' }, { url: 'https://b.test/y' }]);
  });

  it('gives wrong rows with their number and reason, and goes on behind them', async () => {
    const rows = await rowsOf(readCsv, 'url,key\nhttps://a.test\n\nhttps://b.test,b,c\nhttps://c.test,c,\n5" disk,d\n');
    expect(rows.map(({ row, error }) => [row, error ?? 'read'])).toEqual([
      [2, 'the row has 1 columns, and the heading 2'],
      [4, 'the row has 3 columns, and the heading 2'],
      [5, 'read'],
      [6, 'read'],
    ]);
  });

  it('goes on behind a row whose quote is never closed, and gives its number, reason and begin', async () => {
    const open = await rowsOf(readCsv, 'url,key\r\nhttps://a.test,a\r\nhttps://b.test,"b\r\nhttps://c.test,c\r\n');
    expect(open.map(({ row, error, record }) => [row, error ?? 'read', record])).toEqual([
      [2, 'read', { url: 'https://a.test', key: 'a' }],
      [3, 'a quote is opened and never closed', 'https://b.test,"b'],
      [4, 'read', { url: 'https://c.test', key: 'c' }],
    ]);
    const endless = await rowsOf(readCsv, `url,key\nhttps://b.test,"${`${'b'.repeat(99)}\n`.repeat(12_000)}`, 65_536);
    expect(endless[0]).toMatchObject({ row: 2, error: expect.stringContaining('more than 1000000 characters') });
    expect(endless.length).toBe(12_000);
  });

  it.each(['"', ''])('goes on behind a row that is too long, in quotes %j', async (quote) => {
    const long = `https://b.test,${quote}${'b'.repeat(3_000_000)}${quote}`;
    const rows = await rowsOf(readCsv, `url,key\r\nhttps://a.test,a\r\n${long}\r\nhttps://c.test,c\r\n`, 65_536);
    expect(rows.map(({ row, error }) => [row, error ?? 'read'])).toEqual([
      [2, 'read'],
      [3, 'the row has more than 1000000 characters: is a quote not closed?'],
      [4, 'read'],
    ]);
  });

  it('loses no row beside one with an open quote, in chunks of any size', async () => {
    const word = fc.array(fc.constantFrom('a', '""', 'é', ' ', ';'), { maxLength: 5 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(
        ...[fc.array(word, { maxLength: 4 }), word, fc.array(word, { maxLength: 4 }), fc.integer({ min: 1, max: 9 })],
        async (before, open, after, size) => {
          const line = (text: string) => `https://a.test,"${text}"\n`;
          const content = `${before.map(line).join('')}https://b.test,"${open}\n${after.map(() => 'https://a.test,c\n').join('')}`;
          const rows = await rowsOf(readCsv, `url,title\n${content}`, size);
          const errors = rows.map(({ error }) => error);
          expect(errors).toEqual([
            ...before.map(() => undefined),
            'a quote is opened and never closed',
            ...after.map(() => undefined),
          ]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is read behind empty lines and the line of Excel that names the delimiter', async () => {
    for (const begin of ['\n\n', 'sep=;\r\n']) {
      const newline = begin.slice(-2) === '\r\n' ? '\r\n' : '\n';
      const rows = await rowsOf(readCsv, `${begin}key;url${newline}a,b;https://a.test${newline}`);
      expect(rows.map(({ record }) => record)).toEqual([{ key: 'a,b', url: 'https://a.test' }]);
    }
  });

  it('is refused in Latin-1 and UTF-16, with how to convert it', async () => {
    const latin1 = Buffer.from('url,title\nhttps://a.test,a\nhttps://a.test,caf\xe9\n', 'latin1');
    for (const size of [7, 1000]) {
      await expect(rowsOf(readCsv, latin1, size)).rejects.toThrow(
        /^line 3 of the file is not in UTF-8.*iconv -f latin1/,
      );
    }
    const cut = Buffer.from('url\n\u00e9\n\u00e9'.repeat(3));
    await expect(rowsOf(readCsv, cut.subarray(0, -1), 1)).rejects.toThrow(/^line 7 of the file/);
    await expect(rowsOf(readCsv, Buffer.from('\ufeffurl\n', 'utf16le'))).rejects.toThrow('iconv -f utf-16');
  });

  it('is refused as a workbook or a compressed file, with what to do', async () => {
    await expect(rowsOf(readCsv, Buffer.from('504b0304aaaaffff', 'hex'))).rejects.toThrow('save the sheet as CSV');
    await expect(rowsOf(readCsv, Buffer.from('1f8b0800aaaaffff', 'hex'))).rejects.toThrow('gunzip');
  });

  it('is refused without a heading of a destination, or when it is empty', async () => {
    await expect(rowsOf(readCsv, 'a,b\n1,2\n')).rejects.toThrow('the heading of the file: no heading names');
    await expect(rowsOf(readCsv, '')).rejects.toThrow('the file has no heading');
  });

  it('is read the same in chunks of any size', async () => {
    const text = fc
      .array(fc.constantFrom('a', '"', ',', ';', '\n', 'é', ' '), { maxLength: 12 })
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 6 }), fc.integer({ min: 1, max: 9 }), async (titles, size) => {
        const quoted = titles.map((title) => `https://a.test,"${title.replaceAll('"', '""')}"\n`);
        const rows = await rowsOf(readCsv, `url,title\n${quoted.join('')}`, size);
        expect(rows.map(({ record }) => (record as { title: string }).title)).toEqual(titles);
      }),
      { numRuns: 60 },
    );
  });
});

it('lines of JSON are read one by one, wrong ones with their number', async () => {
  const rows = await rowsOf(readNdjson, '{"url":"https://a.test"}\n\n{"url":\n{"url":"é"}');
  expect(rows).toEqual([
    { row: 1, record: { url: 'https://a.test' } },
    { row: 3, record: '{"url":', error: 'the line is not JSON' },
    { row: 4, record: { url: 'é' } },
  ]);
});

it('a line of JSON with tens of thousands of values is rejected without being parsed', async () => {
  const rows = await rowsOf(readNdjson, `[${'{"34":0},'.repeat(20_000)}0]\n{"url":"é"}`, 65_536);
  expect(rows).toMatchObject([
    { row: 1, error: 'the line has more than 20000 values' },
    { row: 2, record: { url: 'é' } },
  ]);
});

it.each([0, 1])('a table and a dump keep characters of two units, wherever a piece ends: %i', async (before) => {
  const title = `${'a'.repeat(before)}${'😀'.repeat(5_000)}`;
  expect(await rowsOf(readCsv, `url,title\nhttps://a.test,${title}\n`, 65_536)).toMatchObject([{ record: { title } }]);
  const dump = `INSERT INTO yourls_url VALUES ('a','https://a.test','${title}','2026-01-01','',1);`;
  expect(await rowsOf(readYourlsDump, dump, 65_536)).toMatchObject([{ record: { title } }]);
});

it.each([
  ['short rows with quotes', readCsv, `url\n${'"\n'.repeat(100_000)}`],
  ['empty rows', readCsv, `url\n${'\n'.repeat(200_000)}`],
  ['a dump of brackets', readYourlsDump, `INSERT INTO a ${'('.repeat(100_000)};INSERT INTO yourls_url VALUES ('a');`],
])('a file of %s is read in turns with other work', async (_what, read, content) => {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns++;
    counting = setImmediate(count);
  });
  await rowsOf(read, content, 65_536).finally(() => clearImmediate(counting));
  expect(turns).toBeGreaterThan(40);
});

describe('a dump of YOURLS', () => {
  const DUMP = `-- MySQL dump; it's fine
CREATE TABLE \`yourls_options\` (\`a\` varchar(9) DEFAULT 'x;(');
INSERT INTO \`yourls_options\` VALUES (1,'a (b', 'c');
INSERT INTO \`yourls_url\` VALUES ('a/b','https://a.test/?q=\\'1\\'','It''s; (x)','2020-01-02 03:04:05','::1',7),('c','https://c.test',NULL,'2020-01-02 03:04:05','',0);
INSERT INTO yourls_url (\`url\`, keyword) VALUES
('https://d.test\\\\','d'),
('https://e.test');
`;

  it('is read row by row, whatever quotes and other tables it has', async () => {
    const rows = await rowsOf(readYourlsDump, DUMP, 3);
    const times = { timestamp: '2020-01-02 03:04:05' };
    expect(rows).toEqual([
      {
        row: 1,
        record: { keyword: 'a/b', url: "https://a.test/?q='1'", title: "It's; (x)", ...times, ip: '::1', clicks: '7' },
      },
      { row: 2, record: { keyword: 'c', url: 'https://c.test', title: null, ...times, ip: '', clicks: '0' } },
      { row: 3, record: { url: 'https://d.test\\', keyword: 'd' } },
      {
        row: 4,
        record: { url: 'https://e.test', keyword: null },
        error: 'the row has 1 values, and the table 2 columns',
      },
    ]);
  });

  it.each([
    [DUMP.slice(0, DUMP.indexOf("'https://c.test'")), { row: 2, record: { keyword: 'c' } }, 'a row'],
    [DUMP.slice(0, DUMP.indexOf('a.test/?') + 3), { row: 1, record: { url: 'https://a.t' } }, 'a row'],
    [DUMP.slice(0, DUMP.indexOf(",('c'")), { row: 2, record: '' }, 'an INSERT'],
  ])('that ends too early has a last row that cannot be read: %#', async (dump, row, within) => {
    const rows = await rowsOf(readYourlsDump, dump);
    expect(rows.at(-1)).toMatchObject({ ...row, error: `the dump ends within ${within}: is it complete?` });
    expect(rows.length).toBe(row.row);
  });

  it('is refused without the table', async () => {
    await expect(rowsOf(readYourlsDump, 'SELECT 1;')).rejects.toThrow('no INSERT into a table such as yourls_url');
  });
});
