import { ANALYTICS_EVENTS, analyticsQuerySchema, GROUPINGS } from '@waymark/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AnalyticsStats,
  bindAnalytics,
  type CompiledQuery,
  parseAnalytics,
  planAnalytics,
  planAnalyticsRangeCount,
  printAnalytics,
  printStats,
} from '../../src/index.js';
import { NOW, programId, workspaceId } from '../world.js';

const SCOPE = { workspaceId: workspaceId(500), programId: programId(1) };

function statements(query: Record<string, string>, stats: AnalyticsStats = {}): CompiledQuery[] {
  const clock = { nowMs: NOW, sinceMs: NOW - 90 * 24 * 3_600_000 };
  const request = bindAnalytics(parseAnalytics(analyticsQuerySchema.parse(query), clock), SCOPE);
  const count = planAnalyticsRangeCount(request, stats);
  const plan = planAnalytics(request, stats);
  return [...(count === undefined ? [] : [printStats(count)]), ...(plan === undefined ? [] : [printAnalytics(plan)])];
}

/** Each SELECT of the SQL, without its nested parentheses. */
function levelsOf(sql: string): string[] {
  const levels: string[] = [];
  const strip = (text: string): string => {
    const shorter = text.replace(/\([^()]*\)/g, (group) => {
      if (group.includes('SELECT')) levels.push(group);
      return '';
    });
    return shorter === text ? text : strip(shorter);
  };
  return [strip(sql), ...levels];
}

const availableStats = fc.record(
  {
    hasRemovedLinks: fc.boolean(),
    rangeEventsMax: fc.constantFrom(1, 1e9),
    allowedLinks: fc.constantFrom([], [1n], [1n, 2n]),
  },
  { requiredKeys: [] },
);
const kinds = {
  event: fc.constantFrom(...ANALYTICS_EVENTS),
  groupBy: fc.constantFrom(...GROUPINGS),
  interval: fc.constantFrom('24h', '90d', '1y', 'all'),
  timezone: fc.constantFrom('UTC', 'Asia/Kathmandu', "Nowhere' OR 1=1"),
};
const TEXT_PARAMETERS = ['city', 'referer', 'url', 'utm_source', 'eventName', 'domain', 'tenantId'] as const;

test('every table in the SQL text is restricted to the workspace, always by the same parameter', () => {
  const text = fc.constantFrom('x', '-x,y', 'x,-y', "'");
  const ids = (prefix: string) =>
    fc.constantFrom(`${prefix}_00000000001`, `-${prefix}_00000000001,${prefix}_00000000002`);
  const filters = fc.record(
    {
      ...Object.fromEntries(TEXT_PARAMETERS.map((name) => [name, text])),
      country: fc.constantFrom('FR', '-US,DE'),
      region: fc.constantFrom('US-CA', 'CA,-NY'),
      root: fc.constantFrom('true', 'false'),
      saleType: fc.constantFrom('new', 'recurring'),
      linkId: ids('link'),
      tagId: ids('tag'),
      folderId: ids('fold'),
      groupId: ids('grp'),
      partnerTagId: ids('ptag'),
      customerId: fc.constantFrom('cus_00000000001', 'ext_1'),
    },
    { requiredKeys: [] },
  );
  const queries = fc.tuple(fc.record(kinds), filters);
  fc.assert(
    fc.property(queries, availableStats, ([kind, given], stats) => {
      for (const { sql, params } of statements({ ...given, ...kind }, stats)) {
        const tables = sql.match(/\b(?:FROM|JOIN) (?!\()/g) ?? [];
        const guarded =
          sql.match(/\bFROM \w+(?: FINAL)? WHERE workspace_id = \{p0:UInt64\}(?= AND | GROUP BY |\)|$)/g) ?? [];
        expect(guarded, sql).toHaveLength(tables.length);
        expect(params.p0).toBe(500n);
        // Next to an OR, the condition on the workspace would have no effect.
        for (const level of levelsOf(sql)) expect(level).not.toContain(' OR ');
      }
    }),
    { numRuns: 1000 },
  );
});

test('the SQL text depends on which parameters are given, never on their values', () => {
  // A comma makes a list, and `url` refuses a question mark.
  const value = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 30 })
    .map((text) => `x${text.replaceAll(/[,?]/g, '')}`);
  const names = fc.uniqueArray(fc.constantFrom(...TEXT_PARAMETERS), { minLength: 1 });
  fc.assert(
    fc.property(fc.record(kinds), names, value, value, (kind, given, one, two) => {
      const texts = (text: string) =>
        statements({ ...kind, ...Object.fromEntries(given.map((name) => [name, text])) }).map(({ sql }) => sql);
      expect(texts(one)).toEqual(texts(two));
    }),
    { numRuns: 500 },
  );
});

test('the same request compiles to the same SQL text, byte for byte, with numbered parameters', () => {
  for (const groupBy of GROUPINGS) {
    const query = { groupBy, event: 'composite', country: 'US,-FR', tagId: '-tag_00000000001', interval: '90d' };
    const [first, second] = [1, 2].map(() => statements(query).at(-1)!);
    expect(second).toEqual(first);
    const named = Object.keys(first!.params);
    expect(named).toEqual(named.map((_name, index) => `p${index}`));
  }
});
