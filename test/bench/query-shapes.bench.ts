// The choices of the plan in event-query, each compared with the rejected alternative: how links are read, the cost of the condition on
// removed links, and why sets of links are not used for index analysis. One workspace with 4 million clicks on 200,000 links.

import type { ClickHouseClient } from '@waymark/clickhouse';
import { eventsQuerySchema, formatResourceId } from '@waymark/contract';
import {
  allowedLinksStats,
  bind,
  type CompiledQuery,
  parse,
  plan,
  planAllowedLinks,
  planTotalCount,
  printPage,
  printStats,
} from '@waymark/event-query';
import { machineLine, printTable } from './lib/report.js';
import { median } from './lib/statistics.js';
import { startStores } from './lib/stores.js';

const CLICKS = 4_000_000;
const ROWS_PER_INSERT = 250_000;
const LINKS = 200_000;
const FIRST_LINK = 100_000_000;
const ROUNDS = 11;
const WORKSPACE = formatResourceId('workspace', '1');
const NOW = Date.parse('2026-11-21T08:00:00.000Z');

const stores = await startStores();

/** Three domains; 4000 tenants with 50 links each; a tag on every 100th link, another on every third; every 1000th link removed. */
async function fillLinks(client: ClickHouseClient): Promise<void> {
  await client.command({
    query: `INSERT INTO links (workspace_id, id, version, domain, key, tenant_id, tag_ids)
SELECT 1, ${FIRST_LINK} + number, 1, ['go.acme.com', 'a.example', 'b.example'][1 + number % 3], toString(number),
  'tenant-' || toString(intDiv(number, 50)),
  arrayFilter(tag -> tag > 0, [if(cityHash64(number) % 100 = 0, 7, 0), if(cityHash64(number) % 3 = 0, 8, 0)])
FROM numbers(${LINKS})`,
  });
  await client.command({
    query: `INSERT INTO links (workspace_id, id, version, deleted)
SELECT workspace_id, id, 2, 1 FROM links WHERE workspace_id = 1 AND id % 1000 = 17`,
  });
}

/** Eighteen months of clicks, evenly distributed in time, most of them on few links. */
async function fillClicks(client: ClickHouseClient): Promise<void> {
  for (let first = 0; first < CLICKS; first += ROWS_PER_INSERT) {
    await client.command({
      query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id, country, city, payload)
SELECT 1, toDateTime64('2026-11-21 08:00:00.000', 3, 'UTC') - toIntervalMillisecond(toUInt64(number * 11664)),
  leftPad(toString(${CLICKS} - number), 16, '0'), ${FIRST_LINK} + toUInt64(${LINKS} * pow(rand(1) / 4294967296, 5)),
  ['US', 'FR', 'DE', 'IN'][1 + rand(2) % 4], 'City ' || toString(toUInt32(20000 * pow(rand(3) / 4294967296, 4))),
  repeat('payload ', 60) || toString(rand64(4)) FROM numbers(${first}, ${ROWS_PER_INSERT})`,
      clickhouse_settings: { max_threads: 1 },
    });
  }
}

async function timeOf({ sql, params, settings }: CompiledQuery): Promise<number> {
  const start = performance.now();
  const result = await stores.client.query({
    query: sql,
    query_params: params,
    format: 'JSONCompactEachRow',
    // Otherwise repeated runs would be answered from the cache of query conditions.
    clickhouse_settings: { ...settings, use_query_condition_cache: 0 } as Record<string, string | number>,
  });
  await result.text();
  return performance.now() - start;
}

async function compare(name: string, variants: Readonly<Record<string, readonly CompiledQuery[]>>): Promise<string[]> {
  const times = new Map(Object.keys(variants).map((variant) => [variant, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [variant, statements] of Object.entries(variants)) {
      let total = 0;
      for (const statement of statements) total += await timeOf(statement);
      if (round > 0) times.get(variant)?.push(total);
    }
  }
  return [name, ...[...times].map(([variant, all]) => `${variant}: ${median(all).toFixed(1)}`)];
}

function statementOf(query: Record<string, string>, settings: CompiledQuery['settings'], facts = {}): CompiledQuery {
  const bound = bind(parse(eventsQuerySchema.parse(query), NOW), { workspaceId: WORKSPACE, programId: null });
  const statement = printPage(plan(bound, facts));
  return { ...statement, settings: { ...statement.settings, ...settings } };
}

/** The statements that count events and find matching links, without those that depend on their results. */
function preliminaryReads(query: Record<string, string>): CompiledQuery[] {
  const bound = bind(parse(eventsQuerySchema.parse(query), NOW), { workspaceId: WORKSPACE, programId: null });
  return [planTotalCount(bound), planAllowedLinks(bound, CLICKS)].flatMap((fact) =>
    fact === undefined ? [] : printStats(fact),
  );
}

const KEPT = { hasRemovedLinks: false };
const linkIds = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => formatResourceId('link', String(FIRST_LINK + from + index))).join(',');
const byTime = { optimize_use_projections: 0 };
const byLink = { optimize_use_projections: 1, use_index_for_in_with_subqueries: 1 };
const all = { interval: 'all' };
const rareTag = { ...all, tagId: formatResourceId('tag', '7') };
const commonDomain = { ...all, domain: 'a.example' };

try {
  await fillLinks(stores.client);
  await fillClicks(stores.client);
  console.log(`\n${machineLine()}\n`);
  const rows: string[][] = [];
  for (const [name, query] of Object.entries({
    'page 1 of all': all,
    'a rare city': { ...all, city: 'City 19990' },
    'page 1001': { ...all, page: '1001' },
  })) {
    rows.push(
      await compare(name, {
        'no removed links': [statementOf(query, {}, KEPT)],
        'removed links left out': [statementOf(query, {})],
      }),
    );
  }
  for (const [name, query] of Object.entries({
    'the busiest link': { ...all, linkId: linkIds(0, 1) },
    'the busiest link, a rare city': { ...all, linkId: linkIds(0, 1), city: 'City 19990' },
    'a quiet link': { ...all, linkId: linkIds(LINKS - 1000, 1) },
    'the 100 busiest links': { ...all, linkId: linkIds(0, 100) },
    '100 quiet links': { ...all, linkId: linkIds(LINKS - 1000, 100) },
  })) {
    rows.push(
      await compare(name, {
        'by time': [statementOf(query, byTime, KEPT)],
        'by link': [statementOf(query, byLink, KEPT)],
      }),
    );
  }
  for (const [name, query] of Object.entries({
    'a tag on 1 % of the links': rareTag,
    'a domain of a third': commonDomain,
  })) {
    rows.push(
      await compare(name, {
        'as planned': [statementOf(query, {}, KEPT)],
        'set in the index analysis': [statementOf(query, { use_index_for_in_with_subqueries: 1 }, KEPT)],
        'by link': [statementOf(query, byLink, KEPT)],
      }),
    );
  }
  for (const [name, number] of [
    ['a quiet tenant', LINKS - 50],
    ['the busiest tenant', 0],
  ] as const) {
    const query = { ...all, tenantId: `tenant-${Math.floor(number / 50)}` };
    const links = Array.from({ length: 50 }, (_, index) => BigInt(FIRST_LINK + number + index));
    rows.push(
      await compare(name, {
        'as planned, preliminary reads first': [
          ...preliminaryReads(query),
          statementOf(query, {}, allowedLinksStats(links)),
        ],
        'by time, no preliminary reads': [statementOf(query, {}, KEPT)],
      }),
    );
  }
  printTable([`${CLICKS} clicks; ms, median of ${ROUNDS}`, 'one way', 'another', '', ''], rows);
} finally {
  await stores.stop();
}
