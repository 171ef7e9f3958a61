import { type ClickHouseClient, dateTimeText, type QueryCaller, runCompiledQuery } from '@waymark/clickhouse';
import { eventIdTime, formatResourceId, type StoredDelivery } from '@waymark/contract';
import { splitPayload } from '@waymark/event-format';
import { READ_LIMITS } from '@waymark/event-query';
import { webhookEventIdOf } from '@waymark/webhooks';

/** Rows per page; a page of the largest events has ten megabytes. */
const PAGE_ROWS = 100;

/** A customer whose rows are read, and the request that reads them. */
export interface Person {
  readonly clickhouse: ClickHouseClient;
  /** `UInt64` as text, like `customer`. */
  readonly workspace: string;
  readonly customer: string;
  /** `cus_…` */
  readonly customerId: string;
  /** The click that the customer is attributed to; null for none. Events of the customer need not refer to it. */
  readonly firstClickId: string | null;
  readonly caller: QueryCaller;
}

type Parameters = Readonly<Record<string, string | number | readonly string[]>>;

function read<Row extends readonly unknown[]>(person: Person, sql: string, params: Parameters): Promise<Row[]> {
  const { clickhouse, workspace, customer, caller } = person;
  const compiled = {
    sql,
    params: { workspace, customer, ...params },
    settings: { ...READ_LIMITS, log_comment: 'data of a customer' },
  };
  return runCompiledQuery<Row>(clickhouse, compiled, { caller });
}

const isoTime = (ms: string | number) => new Date(Number(ms)).toISOString();

/** The condition of every read of leads and sales. */
const OF_CUSTOMER = 'workspace_id = {workspace:UInt64} AND customer_id = {customer:UInt64}';

type ConversionRow = readonly [
  id: string,
  ms: string,
  storedMs: string,
  link: string,
  name: string,
  payload: string,
  ip: string,
  saleType: string,
];

const CONVERSIONS = (table: string, saleType: string) => `SELECT toString(event_id),
  toString(toUnixTimestamp64Milli(timestamp)), toString(toUnixTimestamp64Milli(stored_at)), toString(link_id), event_name, payload, ip,
  ${saleType}
FROM ${table}
WHERE ${OF_CUSTOMER} AND timestamp >= {after:DateTime64(3, 'UTC')}
  AND (timestamp > {after:DateTime64(3, 'UTC')} OR event_id > {afterId:String})
ORDER BY timestamp, event_id LIMIT ${PAGE_ROWS}`;

const SOURCES = {
  leads: CONVERSIONS('lead_events', "''"),
  sales: CONVERSIONS('sale_events', 'sale_type'),
};

function conversionText([id, ms, storedMs, link, name, payload, ip, saleType]: ConversionRow): string {
  const { click, metadata, sale } = splitPayload(payload);
  const head = JSON.stringify({
    eventId: id,
    timestamp: isoTime(ms),
    storedAt: isoTime(storedMs),
    eventName: name,
    linkId: formatResourceId('link', link),
    ...(sale === undefined ? {} : { saleType }),
  });
  const ofSale = sale === undefined ? '' : `,${sale.sale}`;
  return `${head.slice(0, -1)}${ofSale},"metadata":${metadata ?? 'null'},"click":${click},"ip":${JSON.stringify(ip)}}}`;
}

/** The leads or sales of the customer as JSON texts, oldest first, a page at a time. */
export async function* conversionsOf(person: Person, kind: keyof typeof SOURCES): AsyncGenerator<string[]> {
  let [after, afterId] = [dateTimeText(0), ''];
  for (;;) {
    const rows = await read<ConversionRow>(person, SOURCES[kind], { after, afterId });
    yield rows.map(conversionText);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    [afterId, after] = [last[0], dateTimeText(Number(last[1]))];
  }
}

/** Whether the customer has a lead or a sale. */
export async function hasEvents(person: Person): Promise<boolean> {
  const one = (table: string) => `SELECT 1 FROM ${table} WHERE ${OF_CUSTOMER} LIMIT 1`;
  const rows = await read(person, `${one('lead_events')} UNION ALL ${one('sale_events')}`, {});
  return rows.length > 0;
}

const CLICK_IDS = `SELECT DISTINCT toString(click_id) AS id FROM
(
  SELECT click_id FROM lead_events WHERE ${OF_CUSTOMER}
  UNION ALL
  SELECT click_id FROM sale_events WHERE ${OF_CUSTOMER}
)
WHERE id > {afterId:String}
ORDER BY id LIMIT ${PAGE_ROWS}`;

/** The ids of the clicks that the customer and its events are attributed to, a page at a time. */
export async function* clickIdsOf(person: Person): AsyncGenerator<string[]> {
  const { firstClickId } = person;
  if (firstClickId !== null && eventIdTime(firstClickId) !== undefined) yield [firstClickId];
  let afterId = '';
  for (;;) {
    const ids = (await read<[string]>(person, CLICK_IDS, { afterId })).map(([id]) => id);
    yield ids.filter((id) => id !== firstClickId && eventIdTime(id) !== undefined);
    afterId = ids.at(-1) ?? '';
    if (ids.length < PAGE_ROWS) return;
  }
}

type ClickRow = readonly [link: string, storedMs: string, payload: string, ip: string];

const CLICKS = `SELECT toString(link_id), toString(toUnixTimestamp64Milli(stored_at)), payload, ip
FROM click_events
WHERE workspace_id = {workspace:UInt64} AND timestamp IN {times:Array(DateTime64(3, 'UTC'))} AND click_id IN {ids:Array(String)}
ORDER BY timestamp, click_id`;

/** The clicks with these ids as JSON texts. Clicks that have expired are left out. */
export async function clicksOf(person: Person, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const times = ids.map((id) => dateTimeText(eventIdTime(id) ?? 0));
  const rows = await read<ClickRow>(person, CLICKS, { times, ids });
  return rows.map(([link, storedMs, payload, ip]) => {
    const head = `"linkId":"${formatResourceId('link', link)}","storedAt":"${isoTime(storedMs)}"`;
    return `{${head},"click":${splitPayload(payload).click},"ip":${JSON.stringify(ip)}}}`;
  });
}

type DeliveryRow = readonly [
  webhook: string,
  eventId: string,
  event: string,
  attempt: number,
  ms: string,
  url: string,
  status: number,
  error: string,
  sent: string,
  received: string,
];

/** Pages continue after these four columns, because several attempts may have one timestamp. */
const PLACE = 'tuple(timestamp, event_id, webhook_id, attempt)';
const DELIVERIES = (conditions: string) => `SELECT toString(webhook_id), event_id, toString(event), attempt, toString(toUnixTimestamp64Milli(timestamp)), url,
  status, toString(error), request_body, response_body
FROM webhook_deliveries
PREWHERE workspace_id = {workspace:UInt64} AND timestamp >= {after:DateTime64(3, 'UTC')}
  AND ${PLACE} > tuple({after:DateTime64(3, 'UTC')}, {afterId:String}, {afterWebhook:UInt64}, {afterAttempt:UInt8})
  AND ${conditions}
ORDER BY ${PLACE} LIMIT ${PAGE_ROWS}`;
/** Bodies are most of the table: with PREWHERE, those of clicks, the most frequent event, are read only if they are wanted. */
const SEARCHES = {
  customer: DELIVERIES(
    "event IN ('lead.created', 'sale.created') WHERE multiSearchAny(request_body, {ids:Array(String)})",
  ),
  clicks: DELIVERIES('event_id IN {ids:Array(String)}'),
};

interface SentBody {
  readonly data?: StoredDelivery['sent'] & {
    readonly customer?: { readonly id?: unknown };
    readonly click?: { readonly id?: unknown };
  };
}

/**
 * The delivery as JSON text; undefined if its body is not about the person, and an id occurs elsewhere in it, such as in the metadata of
 * another customer's lead.
 */
function deliveryText(row: DeliveryRow, isAbout: (body: NonNullable<SentBody['data']>) => boolean): string | undefined {
  const [webhook, eventId, event, attempt, ms, url, status, error, sent, received] = row;
  const { data } = JSON.parse(sent) as SentBody;
  if (data === undefined || !isAbout(data)) return undefined;
  const { customer, click, sale, eventName, metadata } = data;
  const delivery: StoredDelivery = {
    webhookId: formatResourceId('webhook', webhook),
    eventId,
    event,
    attempt,
    timestamp: isoTime(ms),
    url,
    status,
    error,
    sent: { customer, click, sale, eventName, metadata },
    received,
  };
  return JSON.stringify(delivery);
}

async function* deliveriesWith(
  person: Person,
  search: keyof typeof SEARCHES,
  ids: readonly string[],
  isAbout: (body: NonNullable<SentBody['data']>) => boolean,
): AsyncGenerator<string[]> {
  let place = { after: dateTimeText(0), afterId: '', afterWebhook: '0', afterAttempt: 0 };
  for (;;) {
    const rows = await read<DeliveryRow>(person, SEARCHES[search], { ...place, ids });
    yield rows.flatMap((row) => deliveryText(row, isAbout) ?? []);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return;
    const [afterWebhook, afterId, , afterAttempt, ms] = last;
    place = { after: dateTimeText(Number(ms)), afterId, afterWebhook, afterAttempt };
  }
}

/** The webhook deliveries about the customer, then those about its clicks, as JSON texts, a page at a time. */
export async function* deliveriesOf(person: Person): AsyncGenerator<string[]> {
  const { customerId } = person;
  const namesCustomer = (data: NonNullable<SentBody['data']>) => data.customer?.id === customerId;
  yield* deliveriesWith(person, 'customer', [customerId], namesCustomer);
  for await (const ids of clickIdsOf(person)) {
    if (ids.length === 0) continue;
    const clickIds = new Set<unknown>(ids);
    const eventIds = ids.map((id) => webhookEventIdOf('link.clicked', id));
    // Only deliveries of clicks: those with a customer may be about another customer who shares the click.
    yield* deliveriesWith(person, 'clicks', eventIds, (data) => data.customer === undefined && clickIds.has(data.click?.id));
  }
}
