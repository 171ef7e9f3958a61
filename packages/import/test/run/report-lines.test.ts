import { expect, it } from 'vitest';
import { readCsv } from '../../src/files/read-csv.js';
import type { SourceRow } from '../../src/model/source-link.js';
import { createReportLines } from '../../src/run/report-lines.js';

it('rejected rows keep their columns when the first of them could not be read', async () => {
  async function* file() {
    yield Buffer.from('url,key\nhttps://a.test,"a\nhttps://b.test,b,too much\n');
  }
  const lines = createReportLines(true);
  let report = '';
  for await (const { error = '', ...row } of readCsv(file())) {
    report += lines.rejected({ ...row, reason: error });
  }
  expect(report.split('\r\n')).toEqual([
    'rejectedRow,rejectedReason,url,key',
    '2,"a quote is opened and never closed: https://a.test,""a"',
    '3,"the row has 3 columns, and the heading 2",https://b.test,b,too much',
    '',
  ]);
});

it('a report of rejected rows can be imported again and again', async () => {
  let file = 'url,key\r\nnot a url,a\r\n';
  for (let times = 0; times < 3; times++) {
    const lines = createReportLines(true);
    let report = '';
    const chunks = (async function* () {
      yield Buffer.from(file);
    })();
    for await (const { row, record } of readCsv(chunks)) report += lines.rejected({ row, record, reason: 'no URL' });
    file = report;
    expect(file).toBe('rejectedRow,rejectedReason,url,key\r\n2,no URL,not a url,a\r\n');
  }
});

it('rejected rows have their columns and values also if the first of them is before the heading', async () => {
  const rowsOf = async (text: string) => {
    const chunks = (async function* () {
      yield Buffer.from(text);
    })();
    const rows: SourceRow[] = [];
    let ending = '';
    try {
      for await (const row of readCsv(chunks)) rows.push(row);
    } catch (err) {
      ending = String(err);
    }
    return { rows, ending };
  };
  const { rows } = await rowsOf('"Links of May\nurl,key\nnot a url,a\n');
  const lines = createReportLines(true);
  const report = rows.map((row) => lines.rejected({ reason: 'no URL', ...row })).join('');
  expect(report).toBe('rejectedRow,rejectedReason,url,key\r\n1,"no URL: ""Links of May"\r\n3,no URL,not a url,a\r\n');
  // A row that cannot be read may be the heading itself.
  const wrong = await rowsOf('"url,key\nhttps://a.test,a\n');
  expect([wrong.rows.length, wrong.ending]).toEqual([1, expect.stringContaining('no heading names the destination')]);
});

it('rejected rows with too few or too many values lose and gain none, so that they are rejected again', async () => {
  let file = 'url,key,title\nhttps://a.test/?ids=1,2,promo,Hello,,x\nhttps://b.test,ke\n';
  for (let times = 0; times < 3; times++) {
    const lines = createReportLines(true);
    let report = '';
    const chunks = (async function* () {
      yield Buffer.from(file);
    })();
    for await (const { error, ...row } of readCsv(chunks)) {
      expect(error).toContain('columns, and the heading');
      report += lines.rejected({ ...row, reason: 'wrong' });
    }
    file = report;
    expect(file.split('\r\n')).toEqual([
      'rejectedRow,rejectedReason,url,key,title',
      '2,wrong,https://a.test/?ids=1,2,promo,Hello,,x',
      '3,wrong,https://b.test,ke',
      '',
    ]);
  }
});
