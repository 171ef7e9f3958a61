import { array, base62, eventId, isoTime, pickSkewed, resourceId, uniform } from './sql.js';
import { LEAD_NAMES, PLANS, PROCESSORS } from './vocabulary.js';
import { END_MS, type WorldSizes } from './world.js';

const COPIED = `trigger, country, region, city, continent, device, browser, os, referer, referer_url, url, url_base, utm_source,
  utm_medium, utm_campaign, utm_term, utm_content`;

/** SQL that selects a share of all rows, always the same ones. */
function chosen(seed: number, stream: number, id: string, share: number): string {
  return `${uniform(seed, stream, id)} < ${share}`;
}

/** SQL that inserts the leads of all clicks in a time range, in epoch milliseconds: most within an hour, some days later. */
export function insertLeads({ clicks, leads, seed }: WorldSizes, fromMs: number, toMs: number): string {
  const u = (stream: number) => uniform(seed, stream, 'click_id');
  const waited = `toUInt64(60000 - 2400000 * log(1 - ${u(31)} * 0.999999))`;
  return `INSERT INTO lead_events (workspace_id, timestamp, event_id, event_name, customer_id, link_id, click_id, click_timestamp,
  ${COPIED}, metadata_kv, payload, ip)
SELECT workspace_id, fromUnixTimestamp64Milli(toInt64(ms), 'UTC'), ${eventId('ms', `cityHash64(click_id, ${seed}, 32)`)},
  event_name, customer_id, link_id, click_id, click_timestamp, ${COPIED},
  [concat('plan=', plan), concat('seats=', seats), concat('order=', order_id)],
  concat('{"v":1,"metadata":{"plan":"', plan, '","seats":', seats, ',"order":"', order_id, '"},', substring(payload, 8)), ip
FROM (
  SELECT *, timestamp AS click_timestamp,
    least(${END_MS}, toUInt64(toUnixTimestamp64Milli(timestamp)) + ${waited}) AS ms,
    ${pickSkewed(LEAD_NAMES, 2, u(33))} AS event_name,
    ${pickSkewed(PLANS, 2, u(34))} AS plan,
    toString(1 + toUInt64(50 * pow(${u(35)}, 3))) AS seats,
    lower(hex(cityHash64(click_id, ${seed}, 36))) AS order_id,
    -- About as many customers as leads: many have one, some have several.
    1 + cityHash64(workspace_id, link_id, toUInt64(3 * ${u(37)})) % 7000000000000000000 AS customer_id
  FROM click_events
  WHERE timestamp >= fromUnixTimestamp64Milli(${fromMs}) AND timestamp < fromUnixTimestamp64Milli(${toMs})
    AND ${chosen(seed, 38, 'click_id', leads / clicks)}
)`;
}

/** SQL that inserts sales: a share of the leads has one within three days. */
export function insertSales({ leads, sales, seed }: WorldSizes, fromMs: number, toMs: number): string {
  const u = (stream: number) => uniform(seed, stream, 'event_id');
  return `INSERT INTO sale_events (workspace_id, timestamp, event_id, event_name, customer_id, link_id, click_id, click_timestamp,
  ${COPIED}, metadata_kv, payload, ip, invoice_id, amount, sale_type)
SELECT workspace_id, fromUnixTimestamp64Milli(toInt64(ms), 'UTC'), ${eventId('ms', `cityHash64(event_id, ${seed}, 42)`)},
  'Purchase', customer_id, link_id, click_id, click_timestamp, ${COPIED}, metadata_kv,
  concat('{"v":1,"sale":{"amount":', toString(amount), ',"invoiceId":"', invoice_id, '","paymentProcessor":"', processor,
    '","currency":"usd"},', substring(payload, 8)), ip, invoice_id, amount, sale_type
FROM (
  SELECT *,
    least(${END_MS}, toUInt64(toUnixTimestamp64Milli(timestamp)) + toUInt64(259200000 * pow(${u(41)}, 2))) AS ms,
    toInt64(500 + 50000 * pow(${u(43)}, 3)) AS amount,
    concat('inv_', lower(hex(cityHash64(event_id, ${seed}, 44)))) AS invoice_id,
    ${pickSkewed(PROCESSORS, 2, u(45))} AS processor,
    if(${u(46)} < 0.4, 'new', 'recurring') AS sale_type
  FROM lead_events
  WHERE timestamp >= fromUnixTimestamp64Milli(${fromMs}) AND timestamp < fromUnixTimestamp64Milli(${toMs})
    AND ${chosen(seed, 47, 'event_id', sales / leads)}
)`;
}

/** SQL that inserts the customers of the leads and sales of these workspaces. */
export function insertCustomers(workspaces: readonly bigint[]): string {
  const created = isoTime('toUnixTimestamp64Milli(first)');
  const fields = `","email":null,"avatar":null,"stripeCustomerId":null,"country":null,"clickId":null,"linkId":null,"programId":null,"partnerId":null,"clickedAt":null,"subscriptionCanceledAt":null}`;
  return `INSERT INTO customers (workspace_id, id, version, external_id, created_at, data)
SELECT workspace_id, customer_id, 1, external_id, first,
  concat('{"id":"', ${resourceId('cus_', 'customer_id')}, '","workspaceId":"', ${resourceId('ws_', 'workspace_id')},
    '","createdAt":"', ${created}, '","updatedAt":"', ${created}, '","externalId":"', external_id, '","name":"Ada ', external_id,
    '${fields}')
FROM (
  SELECT workspace_id, customer_id, concat('user_', ${base62('customer_id', 11)}) AS external_id, min(timestamp) AS first
  FROM lead_events WHERE workspace_id IN ${array(workspaces)} GROUP BY workspace_id, customer_id
)`;
}
