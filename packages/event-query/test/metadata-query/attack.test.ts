import { eventsQuerySchema } from '@waymark/contract';
import { aClick, aLead, createTestDatabase, insertLeads, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compile } from '../../src/index.js';
import { pageOf } from '../run.js';
import { idOf, NOW, workspaceId } from '../world.js';
import { idsMatching, idsMatchingEach } from './ids-matching.js';

const HOSTILE = [
  "') OR 1=1 --",
  "' UNION ALL SELECT payload FROM lead_events --",
  "\\') OR 1=1 --",
  '`) OR 1=1 --',
  '{p0:UInt64}) OR (1=1',
  '{p3:String}',
  '/*',
  '*/ OR 1=1 /*',
  '-- x',
  'a\0b',
  '\0',
  '\\0',
  '\\N',
  '\n\r\t\b',
  '\u2019 OR 1=1 --',
  '😀🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  '\ufeff\u202e',
  '%27%20OR%201=1',
  'NULL',
  "['x']",
  "metadata['b']:*",
  'a=b.c\\=d\\',
  '__proto__',
  'x'.repeat(4_000),
  "'".repeat(2_000),
  '\\'.repeat(2_000),
  '😀'.repeat(1_000),
] as const;

const WORKSPACE = 700;
const SCOPE = { workspaceId: workspaceId(WORKSPACE), programId: null };

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

function sqlOf(query: string): string {
  return compile({ query: eventsQuerySchema.parse({ event: 'leads', query }), scope: SCOPE }, NOW).sql;
}

const FORMS: readonly ((text: string) => string)[] = [
  (text) => `metadata['plan']:${text}`,
  (text) => `metadata['plan']!=${text}`,
  (text) => `metadata[${text}]:'x'`,
  (text) => `metadata['a'][${text}]:*`,
  (text) => `NOT metadata[${text}] > 5 OR metadata[${text}][${text}] <= -1e3`,
];

test('keys and values of a query never become part of the SQL text', () => {
  for (const form of FORMS) {
    const reference = sqlOf(form("'harmless'"));
    for (const text of HOSTILE.filter((each) => form(quoted(each)).length <= 10_000)) {
      expect(sqlOf(form(quoted(text)))).toBe(reference);
    }
  }
});

test('hostile keys and values match events that have them, and nothing else', async () => {
  const click = aClick({ workspaceId: String(WORKSPACE) });
  const leads = HOSTILE.flatMap((text, index) => [
    aLead({ click, eventId: idOf(NOW, 2 * index), timestampMs: NOW, metadata: { plan: text } }),
    aLead({ click, eventId: idOf(NOW, 2 * index + 1), timestampMs: NOW, metadata: { [text]: { n: 5 } } }),
  ]);
  await insertLeads(database.client, leads);
  const all = leads.map((_lead, position) => idOf(NOW, leads.length - 1 - position));
  for (const [index, text] of HOSTILE.entries()) {
    const [withValue, withKey] = [idOf(NOW, 2 * index), idOf(NOW, 2 * index + 1)];
    const cases: readonly (readonly [query: string, ids: string[]])[] = [
      [`metadata['plan']=${quoted(text)}`, [withValue]],
      [`metadata[${quoted(text)}]['n']:5`, [withKey]],
      [`metadata[${quoted(text)}]:*`, [withKey]],
      [`metadata[${quoted(text)}]['n'] >= 5`, [withKey]],
      [`metadata['plan']!=${quoted(text)}`, all.filter((id) => id !== withValue)],
    ];
    const queries = cases.map(([query]) => query);
    const shown = text.slice(0, 30);
    expect(await idsMatchingEach(database, WORKSPACE, queries), shown).toEqual(cases.map(([, ids]) => ids));
    // One of them is also read as a page, through the indexes.
    const [query = '', ids] = cases[index % cases.length] ?? [];
    expect(await idsMatching(database, WORKSPACE, query), shown).toEqual(ids);
  }
});

test('a lone surrogate is stored and found as U+FFFD', async () => {
  const workspace = WORKSPACE + 1;
  const click = aClick({ workspaceId: String(workspace) });
  const lead = aLead({ click, timestampMs: NOW, metadata: { 'a\ud800': 'b\udc00' } });
  await insertLeads(database.client, [lead]);
  const scope = { ...SCOPE, workspaceId: workspaceId(workspace) };
  for (const query of ["metadata['a\ud800']:'b\udc00'", "metadata['a\ufffd']:'b\ufffd'"]) {
    expect((await pageOf(database, { event: 'leads', query }, scope)).ids).toEqual([lead[2]]);
  }
});
