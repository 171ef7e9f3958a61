// Conditions on metadata, compared with the rejected alternatives: reading the pairs, and parsing the JSON of each row.
// One workspace with a million leads over eighteen months, with six pairs each.

import { eventsQuerySchema, formatResourceId } from '@waymark/contract';
import { bind, type CompiledQuery, parse, plan, printPage } from '@waymark/event-query';
import { machineLine, printTable } from './lib/report.js';
import { median } from './lib/statistics.js';
import { startStores } from './lib/stores.js';

const LEADS = 1_000_000;
const ROWS_PER_INSERT = 100_000;
const ROUNDS = 9;
const NOW = Date.parse('2026-11-21T08:00:00.000Z');
const WORKSPACE = formatResourceId('workspace', '1');

const stores = await startStores();

async function fillLeads(): Promise<void> {
  for (let first = 0; first < LEADS; first += ROWS_PER_INSERT) {
    await stores.client.command({
      query: `INSERT INTO lead_events (workspace_id, timestamp, event_id, link_id, metadata_kv, payload)
WITH cityHash64(number) AS hash, ['free', 'pro', 'team'][1 + hash % 3] AS plan, toString(hash % 100000) AS amount,
  'C' || toString(hash % 5000) AS coupon, 'City ' || toString(hash % 1000) AS city, if(hash % 2000 = 0, ['rare.key=1'], []) AS rare
SELECT 1, toDateTime64('2026-11-21 08:00:00.000', 3, 'UTC') - toIntervalMillisecond(toUInt64(number * 46000)),
  leftPad(toString(${LEADS} - number), 16, '0'), 5,
  arrayConcat(['plan=' || plan, 'amount=' || amount, 'coupon=' || coupon, 'address.city=' || city, 'trial=true'], rare),
  '{"v":1,"metadata":{"plan":"' || plan || '","amount":' || amount || ',"coupon":"' || coupon || '","address":{"city":"' || city ||
    '"},"trial":true},"click":{"ua":"' || hex(randomString(120)) || '"}}'
FROM numbers(${first}, ${ROWS_PER_INSERT})`,
      clickhouse_settings: { max_threads: 1 },
    });
  }
}

/** The statements of a metadata query, and the same page with another condition in place of the query's. */
function statementsOf(query: string): { readonly ours: CompiledQuery; instead(condition: string): CompiledQuery } {
  const request = eventsQuerySchema.parse({ event: 'leads', interval: 'all', query });
  const scope = { workspaceId: WORKSPACE, programId: null };
  const ours = printPage(plan(bind(parse(request, NOW), scope), { hasRemovedLinks: false }));
  const plain = printPage(plan(bind(parse({ ...request, query: undefined }, NOW), scope), { hasRemovedLinks: false }));
  return {
    ours,
    instead: (condition) => ({ ...plain, sql: plain.sql.replace(' ORDER BY', ` AND ${condition} ORDER BY`) }),
  };
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

async function compare(name: string, variants: readonly CompiledQuery[]): Promise<string[]> {
  const times: number[][] = variants.map(() => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, statement] of variants.entries()) {
      const time = await timeOf(statement);
      if (round > 0) times[index]?.push(time);
    }
  }
  return [name, ...times.map((all) => median(all).toFixed(0))];
}

function pairsAt(path: string, condition: string): string {
  const value = `toFloat64OrNull(substring(pair, ${path.length + 2}))`;
  return `arrayExists(pair -> startsWith(pair, '${path}=') AND ${condition.replace('value', value)}, metadata_kv)`;
}

/** Name, query, and conditions that do the same by reading the pairs and by parsing the JSON. */
const CASES: readonly (readonly [string, string, string?, string?])[] = [
  [
    'a rare value (0.02 %)',
    "metadata['coupon']:C77",
    `arrayExists(pair -> pair = 'coupon=C77', metadata_kv)`,
    `JSONExtractString(payload, 'metadata', 'coupon') = 'C77'`,
  ],
  [
    'a value nobody has',
    "metadata['coupon']:none",
    `arrayExists(pair -> pair = 'coupon=none', metadata_kv)`,
    `JSONExtractString(payload, 'metadata', 'coupon') = 'none'`,
  ],
  [
    'a size few have (0.01 %)',
    "metadata['amount'] > 99990",
    pairsAt('amount', 'value > 99990'),
    `JSONExtractFloat(payload, 'metadata', 'amount') > 99990`,
  ],
  [
    'a size nobody has',
    "metadata['amount'] > 1e6",
    pairsAt('amount', 'value > 1e6'),
    `JSONExtractFloat(payload, 'metadata', 'amount') > 1e6`,
  ],
  [
    'a key few have (0.05 %)',
    "metadata['rare']:*",
    `arrayExists(pair -> startsWith(pair, 'rare.') OR startsWith(pair, 'rare='), metadata_kv)`,
    `JSONHas(payload, 'metadata', 'rare')`,
  ],
  ['50 keys nobody has', Array.from({ length: 50 }, (_, index) => `metadata['none${index}']:*`).join(' OR ')],
  [
    '50 values everybody has not',
    `${Array.from({ length: 49 }, (_, index) => `metadata['coupon']!=x${index}`).join(' AND ')} AND metadata['trial']!=true`,
  ],
  ['50 sizes nobody has', Array.from({ length: 50 }, (_, index) => `metadata['amount'] > 1e${6 + index}`).join(' OR ')],
];

try {
  await fillLeads();
  console.log(`\n${machineLine()}\n`);
  const rows: string[][] = [];
  for (const [name, query, pairs, json] of CASES) {
    const { ours, instead } = statementsOf(query);
    const others = [pairs, json].flatMap((condition) => (condition === undefined ? [] : instead(`(${condition})`)));
    rows.push(await compare(name, [ours, ...others]));
  }
  printTable([`${LEADS} leads; ms, median of ${ROUNDS}`, 'as compiled', 'reading the pairs', 'parsing the JSON'], rows);
} finally {
  await stores.stop();
}
