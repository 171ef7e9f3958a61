import { eventsQuerySchema } from '@waymark/contract';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  bind,
  compile,
  parse,
  planAllowedLinks,
  planRangeCount,
  planRemovedLinks,
  planTotalCount,
  printStats,
} from '../src/index.js';
import { requestSpecs } from './arbitraries.js';
import { queryOf } from './request-spec.js';
import { pageOf } from './run.js';
import { SMALL_WORLD } from './small-world.js';
import { NOW, numberIn, programId, store, type World, type WorldClick, workspaceId } from './world.js';

const SCOPE = { workspaceId: workspaceId(SMALL_WORLD.workspace), programId: programId(1) };
const WORKSPACE_NUMBER = BigInt(SMALL_WORLD.workspace);

/** Parameters with free text. */
const TEXT_PARAMETERS = [
  'city',
  'device',
  'browser',
  'os',
  'referer',
  'refererUrl',
  'url',
  'utm_source',
  'utm_content',
  'eventName',
  'domain',
  'tenantId',
] as const;

const ATTACKS = [
  "') OR 1=1 --",
  "' UNION ALL SELECT payload FROM click_events --",
  "'; DROP TABLE click_events; --",
  "\\') OR 1=1 --",
  "\\\\' OR ''='",
  '`) OR 1=1 --',
  '{p0:UInt64}',
  '{p0:String}) OR (1=1',
  '/*',
  '*/ OR 1=1 /*',
  '# comment',
  'a\0b',
  "\0') OR 1=1 --",
  '\\0',
  '\\N',
  '\n\r\t\b',
  '\u2019 OR 1=1 --',
  '\uff07 OR 1=1 --',
  '😀🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  '\ufeff\u202e\u0000',
  '%27%20OR%201=1',
  'NULL',
  '[]',
  "['x']",
  'x'.repeat(10_000),
  "'".repeat(10_000),
  '\\'.repeat(9_999),
  '😀'.repeat(2_500),
];

function statements(query: Record<string, string>) {
  const parsed = eventsQuerySchema.parse(query);
  const bound = bind(parse(parsed, NOW), SCOPE);
  const stats = [
    planRangeCount(bound),
    planTotalCount(bound),
    planAllowedLinks(bound, 1e9),
    planRemovedLinks(bound),
  ].flatMap((read) => (read === undefined ? [] : printStats(read)));
  return [...stats, compile({ query: parsed, scope: SCOPE }, NOW)];
}

/** The SQL without anything in parentheses. */
function topLevel(sql: string): string {
  const shorter = sql.replace(/\([^()]*\)/g, '');
  return shorter === sql ? sql : topLevel(shorter);
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await store(database, SMALL_WORLD);
});
afterAll(() => database.drop());

test.each(TEXT_PARAMETERS)('the value of %s never becomes part of the SQL text', (parameter) => {
  const reference = statements({ event: 'leads', [parameter]: 'harmless', page: '500' });
  for (const attack of ATTACKS) {
    const texts = statements({ event: 'leads', [parameter]: attack.replaceAll(',', ';'), page: '500' });
    expect(texts.map(({ sql }) => sql)).toEqual(reference.map(({ sql }) => sql));
  }
});

test('the SQL text depends on which parameters are given, never on their values', () => {
  const value = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 30 })
    .map((text) => `x${text.replaceAll(',', '')}`);
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(...TEXT_PARAMETERS), { minLength: 1 }),
      value,
      value,
      (names, one, two) => {
        const query = (text: string) => Object.fromEntries(names.map((name) => [name, text]));
        expect(statements(query(one)).map(({ sql }) => sql)).toEqual(statements(query(two)).map(({ sql }) => sql));
      },
    ),
  );
});

test('every table in the SQL text is restricted to the workspace, always by the same parameter', () => {
  const seen = { metadataOnLinks: 0, threeTables: 0 };
  // Filters on links and partners, also together, more often than in requests of `requestSpecs`.
  const further = fc.record(
    {
      tagIds: fc.constantFrom('tag_x,tag_00000000001', 'nope'),
      tagId: fc.constantFrom('tag_00000000001,-tag_x', '-tag_00000000001'),
      groupId: fc.constantFrom('grp_00000000001', '-grp_00000000001,grp_00000000002'),
      partnerTagId: fc.constantFrom('ptag_00000000001', '-ptag_00000000001,ptag_00000000002'),
      qr: fc.constantFrom('true', 'false'),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(requestSpecs, further, (spec, others) => {
      for (const { sql, params } of statements({ ...others, ...queryOf(spec) })) {
        const tables = sql.match(/\b(?:FROM|JOIN)\b/g) ?? [];
        const guarded = sql.match(/\bFROM \w+(?: FINAL)? WHERE workspace_id = \{p0:UInt64\}(?= AND | ORDER |$)/g) ?? [];
        expect(guarded, sql).toHaveLength(tables.length);
        expect(params.p0).toBe(WORKSPACE_NUMBER);
        // Next to an OR, the condition on the workspace would have no effect.
        expect(topLevel(sql), sql).not.toContain(' OR ');
        if (tables.length > 2) seen.threeTables += 1;
        if (tables.length > 1 && spec.metadata !== undefined && spec.event !== 'clicks') seen.metadataOnLinks += 1;
      }
    }),
    { numRuns: 500 },
  );
  // Guards against a vacuous test.
  expect(seen.threeTables).toBeGreaterThan(50);
  expect(seen.metadataOnLinks).toBeGreaterThan(50);
});

test('the same request compiles to the same SQL text, byte for byte', () => {
  const query = eventsQuerySchema.parse({ country: 'US,-FR', tagId: '-tag_x', region: 'US-CA,NY,FR-IDF', page: '7' });
  const [first, second] = [1, 2].map(() => compile({ query, scope: SCOPE }, NOW));
  expect(second).toEqual(first);
  expect(Object.keys(first!.params)).toEqual(Object.keys(first!.params).map((_name, index) => `p${index}`));
});

test('a request only compiles with a valid workspace id', () => {
  for (const id of ['', '1', 'ws_', 'ws_1', 'link_00000000001', "ws_' OR 1=1", undefined]) {
    const scope = { ...SCOPE, workspaceId: id as string };
    expect(() => compile({ query: eventsQuerySchema.parse({}), scope }, NOW)).toThrow(TypeError);
  }
});

test('hostile values match events that have them, and nothing else', async () => {
  const values = ATTACKS.map((attack) => attack.replaceAll(',', ';').slice(0, 2000));
  const template = SMALL_WORLD.clicks[0]!;
  const world: World = {
    ...SMALL_WORLD,
    workspace: 501,
    clicks: values.map((city, number): WorldClick => {
      return { ...template, id: template.id.slice(0, 13) + String(number).padStart(3, '0'), city };
    }),
    leads: [],
    sales: [],
  };
  await store(database, world);
  const here = { ...SCOPE, workspaceId: workspaceId(501) };
  for (const [number, city] of values.entries()) {
    const found = await pageOf(database, { city }, here);
    expect(found.ids, city.slice(0, 40)).toEqual([world.clicks[number]!.id]);
  }
  expect((await pageOf(database, { city: values.join(',') }, here)).ids).toHaveLength(values.length);
  expect((await pageOf(database, { city: values.join(',') }, SCOPE)).ids).toEqual([]);
  const others = await pageOf(database, { city: `-${values[0]}` }, SCOPE);
  expect(others.ids.map(numberIn)).toEqual([9, 1, 2, 3, 4, 5, 6]);
});
