import type { EventKind, MultiValueFilter } from '@waymark/contract';
import type { MetadataQuery } from '../src/metadata-query/metadata-query.js';
import { evaluate } from './metadata-query/evaluate.js';
import {
  customerId,
  eventsOf,
  folderId,
  groupId,
  linkId,
  NOW,
  partnerId,
  partnerTagId,
  programId,
  tagId,
  type World,
  type WorldClick,
  type WorldConversion,
} from './world.js';

/** A request in structured form, from which this file computes the expected result without SQL and without the parser. */
export interface RequestSpec {
  readonly event: EventKind;
  readonly range: RangeSpec;
  readonly lists: Partial<Record<MultiValueFilter, ListSpec>>;
  readonly root: boolean | undefined;
  readonly saleType: 'new' | 'recurring' | undefined;
  readonly metadata: { readonly query: MetadataQuery; readonly text: string } | undefined;
  readonly program: number | undefined;
  readonly customer: number | undefined;
  readonly order: 'asc' | 'desc';
  readonly page: number;
  readonly limit: number;
}

export interface ListSpec {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export type RangeSpec =
  | { readonly type: 'times'; readonly startMs: number; readonly endMs: number }
  | { readonly type: 'days'; readonly start: string; readonly end: string; readonly zone: string }
  | { readonly type: 'interval'; readonly interval: '24h' | 'mtd' | 'ytd' | 'all'; readonly zone: string };

/** The fields of a request without filters. */
export const NO_FILTER = {
  lists: {},
  root: undefined,
  saleType: undefined,
  metadata: undefined,
  program: undefined,
  customer: undefined,
} as const satisfies Partial<RequestSpec>;

/** The program of the workspace in every test. */
export const OWN_PROGRAM = 1;

/** The query parameters of the request. */
export function queryOf(spec: RequestSpec): Record<string, string> {
  const lists = Object.entries(spec.lists).map(([name, list]): [string, string] => [name, listText(list)]);
  const optional: [string, string | number | boolean | undefined][] = [
    ['root', spec.root],
    ['saleType', spec.saleType],
    ['query', spec.metadata?.text],
    ['programId', spec.program && programId(spec.program)],
    ['customerId', spec.customer && customerId(spec.customer)],
  ];
  const given = optional.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]);
  return {
    event: spec.event,
    ...rangeQuery(spec.range),
    ...Object.fromEntries(lists),
    ...Object.fromEntries(given),
    sortOrder: spec.order,
    page: String(spec.page),
    limit: String(spec.limit),
  };
}

function listText({ include, exclude }: ListSpec): string {
  if (include.length === 0) return exclude.length === 0 ? '' : `-${exclude.join(',')}`;
  return [...include, ...exclude.map((value) => `-${value}`)].join(',');
}

function rangeQuery(range: RangeSpec): Record<string, string> {
  switch (range.type) {
    case 'times':
      return { start: new Date(range.startMs).toISOString(), end: new Date(range.endMs).toISOString() };
    case 'days':
      return { start: range.start, end: range.end, timezone: range.zone };
    case 'interval':
      return { interval: range.interval, timezone: range.zone };
  }
}

const dayFormats = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-21` in the zone. */
export function dayIn(zone: string, ms: number): string {
  const format = dayFormats.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone });
  dayFormats.set(zone, format);
  return format.format(ms);
}

/** Whether the instant is in the range. */
export function isInRange(range: RangeSpec, ms: number): boolean {
  if (range.type === 'times') {
    return ms >= Math.min(range.startMs, range.endMs) && ms <= Math.max(range.startMs, range.endMs);
  }
  const day = dayIn(range.zone, ms);
  if (range.type === 'days') {
    const [first, last] = [range.start, range.end].sort();
    return first! <= day && day <= last!;
  }
  if (range.interval === '24h') return ms >= NOW - 24 * 3_600_000 && ms <= NOW;
  const today = dayIn(range.zone, NOW);
  const prefix = { mtd: today.slice(0, 7), ytd: today.slice(0, 4), all: '' }[range.interval];
  return day <= today && day.startsWith(prefix);
}

/** The value of a UTM parameter of the URL; `''` when absent. */
export function utm(url: string, name: string): string {
  return url.includes('?') ? (new URLSearchParams(url.slice(url.indexOf('?') + 1)).get(name) ?? '') : '';
}

function fold(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Whether the attribute that the filter tests has this value. */
function has(world: World, event: WorldClick | WorldConversion, parameter: MultiValueFilter, value: string): boolean {
  const click = 'click' in event ? event.click : event;
  const link = world.links.find(({ number }) => number === click.link)!;
  const partner = world.partners.find(({ number }) => number === link.partner);
  switch (parameter) {
    case 'linkId':
      return value === linkId(click.link);
    case 'domain':
      return value.toLowerCase() === link.domain;
    case 'tenantId':
      return value === link.tenantId;
    case 'tagId':
      return link.tags.some((tag) => value === tagId(tag));
    case 'folderId':
      return link.folder !== 0 && value === folderId(link.folder);
    case 'partnerTagId':
      return partner?.tags.some((tag) => value === partnerTagId(tag)) ?? false;
    case 'groupId':
      return partner !== undefined && partner.group !== 0 && value === groupId(partner.group);
    case 'partnerId':
      return link.partner !== 0 && value === partnerId(link.partner);
    case 'region':
      return [click.region, `${click.country}-${click.region}`].some(
        (text) => text.toLowerCase() === value.toLowerCase(),
      );
    case 'country':
      return value.toLowerCase() === click.country.toLowerCase();
    case 'device':
    case 'browser':
    case 'os':
      return fold(value) === fold(click[parameter]);
    case 'url':
      return value === click.url.replace(/\?.*$/s, '');
    case 'refererUrl':
      return value === click.refererUrl.replace(/\?.*$/s, '');
    case 'eventName':
      return !('click' in event) || value === event.eventName;
    case 'city':
    case 'continent':
    case 'trigger':
    case 'referer':
      return value === click[parameter];
    default:
      return value === utm(click.url, parameter);
  }
}

function passesList(
  world: World,
  event: WorldClick | WorldConversion,
  parameter: MultiValueFilter,
  list: ListSpec,
): boolean {
  // Clicks have no event name; the filter does not apply to them.
  if (parameter === 'eventName' && !('click' in event)) return true;
  const hasAny = (values: readonly string[]) => values.some((value) => has(world, event, parameter, value));
  return (list.include.length === 0 || hasAny(list.include)) && !hasAny(list.exclude);
}

function isOfCustomer(world: World, event: WorldClick | WorldConversion, customer: number): boolean {
  if ('click' in event) return event.customer === customer;
  return world.leads.some((lead) => lead.customer === customer && lead.click.id === event.id);
}

/** Whether the event passes all filters of the request. Does not check the event kind. */
export function passes(world: World, spec: RequestSpec, event: WorldClick | WorldConversion): boolean {
  const click = 'click' in event ? event.click : event;
  const link = world.links.find(({ number }) => number === click.link)!;
  return (
    !link.isRemoved &&
    isInRange(spec.range, event.timeMs) &&
    Object.entries(spec.lists).every(([name, list]) => passesList(world, event, name as MultiValueFilter, list)) &&
    (spec.root === undefined || spec.root === (link.key === '_root')) &&
    (spec.program === undefined || (spec.program === OWN_PROGRAM && link.program === spec.program)) &&
    (spec.customer === undefined || isOfCustomer(world, event, spec.customer)) &&
    (spec.metadata === undefined || !('click' in event) || evaluate(spec.metadata.query, event.metadata)) &&
    (spec.saleType === undefined || spec.event !== 'sales' || ('saleType' in event && event.saleType === spec.saleType))
  );
}

/** The expected ids of the page, found by checking all events one by one. */
export function expectedIds(world: World, spec: RequestSpec): string[] {
  const found = eventsOf(world, spec.event).filter((event) => passes(world, spec, event));
  const ascending = found.sort((a, b) => a.timeMs - b.timeMs || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
  const ordered = spec.order === 'asc' ? ascending : ascending.reverse();
  return ordered.slice((spec.page - 1) * spec.limit, spec.page * spec.limit);
}
