import type { ClickHouseClient } from '@waymark/clickhouse';
import { base62, resourceId } from './sql.js';
import { END_MS } from './world.js';

/*
 * The baseline: how such systems are built today. Events sorted by (workspace, link, time) in monthly partitions, ids as text, a column
 * for every field of a response, UTM values inside the URL, metadata as JSON text, the attributes of links in a table of versions that
 * is read with FINAL, and a second copy of the clicks sorted by id.
 */

export function baselineOf(database: string): string {
  return database.replace('bench', 'baseline');
}

const CLICK_COLUMNS = `workspace_id String, link_id String, click_id String, timestamp DateTime64(3, 'UTC'),
  domain LowCardinality(String), key String, url String, country LowCardinality(String), region LowCardinality(String),
  city LowCardinality(String), continent LowCardinality(String), device LowCardinality(String), browser LowCardinality(String),
  os LowCardinality(String), ua String, trigger LowCardinality(String), referer LowCardinality(String), referer_url String,
  ip String`;
const LEAD_COLUMNS = `${CLICK_COLUMNS}, event_id String, event_name LowCardinality(String), customer_id String, metadata String`;
const SALE_COLUMNS = `${LEAD_COLUMNS}, invoice_id String, amount Int64, payment_processor LowCardinality(String), currency LowCardinality(String)`;

function eventTable(name: string, columns: string): string {
  return `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree PARTITION BY toYYYYMM(timestamp)
ORDER BY (workspace_id, link_id, timestamp)`;
}

/** Columns of a click, from our own row `event` and from its link. */
const COPIED = `link.workspace, link.link, event.click_id, event.timestamp, link.domain, link.key, event.url, event.country,
  event.region, event.city, event.continent, event.device, event.browser, event.os, JSONExtractString(event.payload, 'click', 'ua'), event.trigger, event.referer, event.referer_url, event.ip`;
const LEAD_COPIED = `${COPIED}, event.event_id, event.event_name, ${resourceId('cus_', 'event.customer_id')},
  JSONExtractRaw(event.payload, 'metadata')`;
const SALE_COPIED = `${LEAD_COPIED}, event.invoice_id, event.amount, JSONExtractString(event.payload, 'sale', 'paymentProcessor'),
  'usd'`;

/** Creates the empty tables, and copies the links together with their partner's group and tags. */
export async function createBaseline(client: ClickHouseClient, database: string): Promise<void> {
  const baseline = baselineOf(database);
  const idOrNone = (prefix: string, number: string) => `if(${number} = 0, '', ${resourceId(prefix, number)})`;
  const ids = (prefix: string, numbers: string) =>
    `arrayMap(item -> concat('${prefix}', ${base62('item', 11)}), ${numbers})`;
  for (const query of [
    `DROP DATABASE IF EXISTS ${baseline} SYNC`,
    `CREATE DATABASE ${baseline}`,
    eventTable(`${baseline}.click_events`, CLICK_COLUMNS),
    `CREATE TABLE ${baseline}.click_events_by_id (${CLICK_COLUMNS}) ENGINE = MergeTree PARTITION BY toYYYYMM(timestamp) ORDER BY click_id`,
    eventTable(`${baseline}.lead_events`, LEAD_COLUMNS),
    eventTable(`${baseline}.sale_events`, SALE_COLUMNS),
    `CREATE TABLE ${baseline}.links (workspace_id String, link_id String, version UInt64, deleted UInt8, domain String, key String,
  url String, tenant_id String, folder_id String, tag_ids Array(String), partner_id String, group_id String,
  partner_tag_ids Array(String), program_id String, created_at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree(version) ORDER BY (workspace_id, link_id)`,
    `INSERT INTO ${baseline}.links SELECT ${resourceId('ws_', 'link.workspace_id')}, ${resourceId('link_', 'link.id')},
  link.version, link.deleted, link.domain, link.key, link.url, link.tenant_id, ${idOrNone('fold_', 'link.folder_id')},
  ${ids('tag_', 'link.tag_ids')}, ${idOrNone('pn_', 'link.partner_id')}, ${idOrNone('grp_', 'partner.group_id')},
  ${ids('ptag_', 'partner.partner_tag_ids')}, ${idOrNone('prog_', 'link.program_id')}, link.created_at
FROM ${database}.links AS link
LEFT JOIN ${database}.partners AS partner ON partner.workspace_id = link.workspace_id AND partner.id = link.partner_id`,
  ]) {
    await client.command({ query });
  }
}

/** Copies the events of a time range, in epoch milliseconds. Ids are converted to text once per link, not once per event. */
export async function fillBaseline(
  client: ClickHouseClient,
  database: string,
  fromMs: number,
  toMs: number,
): Promise<void> {
  const baseline = baselineOf(database);
  const within = (column: string) =>
    `${column} >= fromUnixTimestamp64Milli(${fromMs}) AND ${column} < fromUnixTimestamp64Milli(${toMs})`;
  for (const [table, columns] of [
    ['click_events', COPIED],
    ['lead_events', LEAD_COPIED],
    ['sale_events', SALE_COPIED],
  ]) {
    await client.command({
      query: `INSERT INTO ${baseline}.${table} SELECT ${columns}
FROM ${database}.${table} AS event
INNER JOIN (
  SELECT workspace_id, id, domain, key, ${resourceId('ws_', 'workspace_id')} AS workspace, ${resourceId('link_', 'id')} AS link
  FROM ${database}.links WHERE deleted = 0
) AS link ON link.workspace_id = event.workspace_id AND link.id = event.link_id
WHERE ${within('event.timestamp')}`,
    });
  }
  await client.command({
    query: `INSERT INTO ${baseline}.click_events_by_id SELECT * FROM ${baseline}.click_events WHERE ${within('timestamp')}`,
  });
}

/** Merges each month that has ended into one part. */
export async function mergeEndedMonths(client: ClickHouseClient, database: string): Promise<void> {
  const baseline = baselineOf(database);
  const result = await client.query({
    query: `SELECT DISTINCT table, partition_id FROM system.parts
WHERE active AND database = {baseline:String} AND partition_id NOT IN ('all', toString({current:UInt32}))`,
    query_params: { baseline, current: new Date(END_MS).getUTCFullYear() * 100 + new Date(END_MS).getUTCMonth() + 1 },
    format: 'JSONCompactEachRow',
  });
  for (const [table, partition] of await result.json<[string, string]>()) {
    await client.command({ query: `OPTIMIZE TABLE ${baseline}.${table} PARTITION ID '${partition}' FINAL` });
  }
}
