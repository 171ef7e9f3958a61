import type { PaymentProcessor, Trigger } from '@waymark/contract';
import { metadataPairs } from './metadata-pairs.js';

/**
 * Rows of the event tables as positional arrays: what a queue job carries and what the writer inserts. One column list per
 * kind and version; a change of a list is a new version, because jobs of the old one may still be queued.
 */

/** Columns that leads and sales copy from their click, in this order. */
export const CLICK_ATTRIBUTE_COLUMNS = [
  'trigger',
  'country',
  'region',
  'city',
  'continent',
  'device',
  'browser',
  'os',
  'referer',
  'referer_url',
  'url',
  'url_base',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
] as const;

const CLICK_COLUMNS = [
  'workspace_id',
  'timestamp',
  'click_id',
  'link_id',
  ...CLICK_ATTRIBUTE_COLUMNS,
  'payload',
  'ip',
] as const;

const LEAD_COLUMNS = [
  'workspace_id',
  'timestamp',
  'event_id',
  'event_name',
  'customer_id',
  'link_id',
  'click_id',
  'click_timestamp',
  ...CLICK_ATTRIBUTE_COLUMNS,
  'metadata_kv',
  'payload',
  'ip',
] as const;

const SALE_COLUMNS = [...LEAD_COLUMNS, 'invoice_id', 'amount', 'sale_type'] as const;

/** Table, row key and column list of every event kind, by job version `v`. */
export const EVENT_TABLES = {
  click: { table: 'click_events', idColumn: 'click_id', columns: { 1: CLICK_COLUMNS } },
  lead: { table: 'lead_events', idColumn: 'event_id', columns: { 1: LEAD_COLUMNS } },
  sale: { table: 'sale_events', idColumn: 'event_id', columns: { 1: SALE_COLUMNS } },
} as const;

export type EventTableKind = keyof typeof EVENT_TABLES;

const CUSTOMER_COLUMNS = [
  'workspace_id',
  'id',
  'version',
  'deleted',
  'external_id',
  'email',
  'country',
  'link_id',
  'created_at',
  'data',
] as const;

/**
 * Every kind that travels through the queue. Customers are catalog rows: writing one again is harmless, and the writer adds
 * the row of their name.
 */
export const QUEUE_TABLES = {
  ...EVENT_TABLES,
  customer: { table: 'customers', idColumn: 'id', columns: { 1: CUSTOMER_COLUMNS } },
} as const;

export type QueueKind = keyof typeof QUEUE_TABLES;
export const EVENT_ROW_VERSION = 1;

/** One value of a row. Strings, numbers, and the string array of `metadata_kv`; 64-bit ids are decimal strings. */
export type RowValue = string | number | readonly string[];
/** A row in the order of its kind's column list. Position 0 is the workspace; in event rows 1 is the timestamp in epoch
 * milliseconds. */
export type EventRow = readonly RowValue[];

/** Everything known about a click when it is recorded. Texts are final: `Unknown`, `(direct)` and `''` already applied. */
export interface ClickFacts {
  /** `UInt64` as decimal text. */
  readonly workspaceId: string;
  readonly linkId: string;
  readonly clickId: string;
  /** Epoch milliseconds; the time inside `clickId`. */
  readonly timestampMs: number;
  readonly trigger: Trigger;
  /** Final destination, query included, without `dub_id`. */
  readonly url: string;
  readonly country: string;
  /** Subdivision only (`CA`), or `Unknown`. */
  readonly region: string;
  readonly city: string;
  readonly continent: string;
  readonly device: string;
  readonly browser: string;
  readonly os: string;
  readonly userAgent: string;
  readonly referer: string;
  /** The whole Referer header, or `(direct)`; its query is cut off before it is stored. */
  readonly refererUrl: string;
  /** `''` when it must not be kept. */
  readonly ip: string;
}

function withoutQuery(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

const UTM_PARAMETERS = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;

const NO_UTM_VALUES = ['', '', '', '', ''];

/** Whether to look: a name may be written with escapes. */
function mayHaveUtm(url: string): boolean {
  return url.includes('utm_') || /[?&][^=&?#]*%/.test(url);
}

/** Decoded UTM values of a URL's query, `''` for those it lacks. */
function utmValues(url: string): string[] {
  if (!mayHaveUtm(url)) return NO_UTM_VALUES;
  // The router of a page may keep a query of its own behind the #.
  const fragment = url.indexOf('#');
  const address = fragment < 0 ? url : url.slice(0, fragment);
  const start = address.indexOf('?');
  if (start < 0) return NO_UTM_VALUES;
  const parameters = new URLSearchParams(address.slice(start + 1));
  return UTM_PARAMETERS.map((name) => parameters.get(name) ?? '');
}

/**
 * Payload version 1: `{"v":1,…}` whose members after `v` are spliced into the API's answer as they stand. The click object
 * comes last and ends before its `ip`, which has a column of its own so that it can expire. `url` to `os` are one run of
 * text because the deprecated top-level fields repeat exactly that run.
 */
export const PAYLOAD_HEAD = '{"v":1,';
export const PAYLOAD_TAIL = '}}';

/** What JSON writes as an escape; half a surrogate pair is one, and a whole pair may go the slow way too. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const ESCAPED_IN_JSON = /["\\\u0000-\u001f\ud800-\udfff]/;

/** A text as JSON. Clicks are built thousands of times a second, and almost none of their texts needs an escape. */
function jsonText(value: string): string {
  return ESCAPED_IN_JSON.test(value) ? JSON.stringify(value) : `"${value}"`;
}

let formattedMs = Number.NaN;
let formattedTime = '';

/** ISO-8601 of a time that is often the same as the last one's. */
function isoTime(timestampMs: number): string {
  if (timestampMs !== formattedMs) {
    formattedTime = new Date(timestampMs).toISOString();
    formattedMs = timestampMs;
  }
  return formattedTime;
}

/** The row of a click, version 1. */
export function clickRow(facts: ClickFacts): EventRow {
  const refererUrl = withoutQuery(facts.refererUrl);
  const region = facts.region === 'Unknown' ? 'Unknown' : `${facts.country}-${facts.region}`;
  const click =
    `{"id":${jsonText(facts.clickId)},"timestamp":"${isoTime(facts.timestampMs)}","url":${jsonText(facts.url)}` +
    `,"continent":${jsonText(facts.continent)},"country":${jsonText(facts.country)},"city":${jsonText(facts.city)}` +
    `,"device":${jsonText(facts.device)},"browser":${jsonText(facts.browser)},"os":${jsonText(facts.os)}` +
    `,"region":${jsonText(region)},"ua":${jsonText(facts.userAgent)},"trigger":"${facts.trigger}"` +
    `,"referer":${jsonText(facts.referer)},"refererUrl":${jsonText(refererUrl)},"qr":${facts.trigger === 'qr'}}`;
  return [
    facts.workspaceId,
    facts.timestampMs,
    facts.clickId,
    facts.linkId,
    facts.trigger,
    facts.country,
    facts.region,
    facts.city,
    facts.continent,
    facts.device,
    facts.browser,
    facts.os,
    facts.referer,
    refererUrl,
    facts.url,
    withoutQuery(facts.url),
    ...utmValues(facts.url),
    `${PAYLOAD_HEAD}"click":${click}}`,
    facts.ip,
  ];
}

/** Texts of a click that may hold anything; the others are ids, numbers and words of ours. */
function freeTexts({
  url,
  country,
  region,
  city,
  continent,
  device,
  browser,
  os,
  userAgent,
  ...rest
}: ClickFacts): string {
  return (
    url +
    country +
    region +
    city +
    continent +
    device +
    browser +
    os +
    userAgent +
    rest.referer +
    rest.refererUrl +
    rest.ip
  );
}

/**
 * `JSON.stringify(clickRow(facts))`, written in one go: a redirect builds one for every visit, and a row holds most of its
 * texts twice, the second time as JSON inside the payload.
 */
export function clickRowText(facts: ClickFacts): string {
  if (ESCAPED_IN_JSON.test(freeTexts(facts))) return JSON.stringify(clickRow(facts));
  const { workspaceId, timestampMs, clickId, linkId, trigger, country, city, continent, device, browser, os, url } =
    facts;
  const { region, referer } = facts;
  const refererUrl = withoutQuery(facts.refererUrl);
  const utm = mayHaveUtm(url) ? JSON.stringify(utmValues(url)).slice(1, -1) : '"","","","",""';
  const fullRegion = region === 'Unknown' ? 'Unknown' : `${country}-${region}`;
  return (
    `["${workspaceId}",${timestampMs},"${clickId}","${linkId}","${trigger}","${country}","${region}","${city}","${continent}"` +
    `,"${device}","${browser}","${os}","${referer}","${refererUrl}","${url}","${withoutQuery(url)}",${utm}` +
    `,"{\\"v\\":1,\\"click\\":{\\"id\\":\\"${clickId}\\",\\"timestamp\\":\\"${isoTime(timestampMs)}\\",\\"url\\":\\"${url}\\"` +
    `,\\"continent\\":\\"${continent}\\",\\"country\\":\\"${country}\\",\\"city\\":\\"${city}\\",\\"device\\":\\"${device}\\"` +
    `,\\"browser\\":\\"${browser}\\",\\"os\\":\\"${os}\\",\\"region\\":\\"${fullRegion}\\",\\"ua\\":\\"${facts.userAgent}\\"` +
    `,\\"trigger\\":\\"${trigger}\\",\\"referer\\":\\"${referer}\\",\\"refererUrl\\":\\"${refererUrl}\\",\\"qr\\":${trigger === 'qr'}}}"` +
    `,"${facts.ip}"]`
  );
}

/** What a lead adds to its click. */
export interface LeadFacts {
  readonly eventId: string;
  readonly eventName: string;
  /** Epoch milliseconds; the time inside `eventId`. */
  readonly timestampMs: number;
  /** `UInt64` as decimal text. */
  readonly customerId: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

const ATTRIBUTES_START = CLICK_COLUMNS.indexOf('trigger');
const ATTRIBUTES_END = CLICK_COLUMNS.indexOf('payload');
const CLICK_PAYLOAD = ATTRIBUTES_END;
const CLICK_IP = ATTRIBUTES_END + 1;

function text(row: EventRow, position: number): string {
  const value = row[position];
  if (typeof value !== 'string') throw new TypeError(`click row has no text at position ${position}`);
  return value;
}

function conversionRow(click: EventRow, facts: LeadFacts, sale: string): RowValue[] {
  const clickMembers = text(click, CLICK_PAYLOAD).slice(PAYLOAD_HEAD.length);
  return [
    text(click, 0),
    facts.timestampMs,
    facts.eventId,
    facts.eventName,
    facts.customerId,
    text(click, 3),
    text(click, 2),
    click[1] ?? 0,
    ...click.slice(ATTRIBUTES_START, ATTRIBUTES_END),
    metadataPairs(facts.metadata),
    `${PAYLOAD_HEAD}${sale}"metadata":${JSON.stringify(facts.metadata)},${clickMembers}`,
    text(click, CLICK_IP),
  ];
}

/** The row of a lead, version 1: every attribute of `click` (a click row of version 1) is copied onto it. */
export function leadRow(click: EventRow, facts: LeadFacts): EventRow {
  return conversionRow(click, facts, '');
}

/** What a sale adds to a lead's facts. */
export interface SaleFacts extends LeadFacts {
  /** Minor units of `currency`: cents for `usd`. */
  readonly amount: number;
  readonly currency: string;
  readonly invoiceId: string | null;
  readonly paymentProcessor: PaymentProcessor;
  readonly saleType: 'new' | 'recurring';
}

/** The row of a sale, version 1. */
export function saleRow(click: EventRow, facts: SaleFacts): EventRow {
  const sale = JSON.stringify({
    amount: facts.amount,
    invoiceId: facts.invoiceId,
    paymentProcessor: facts.paymentProcessor,
    currency: facts.currency,
  });
  const row = conversionRow(click, facts, `"sale":${sale},`);
  row.push(facts.invoiceId ?? '', facts.amount, facts.saleType);
  return row;
}
