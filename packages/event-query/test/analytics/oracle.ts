import {
  type AnalyticsEvent,
  type AnalyticsNumbers,
  CONTINENTS,
  EVENT_KINDS,
  type EventKind,
  type Grouping,
} from '@waymark/contract';
import { passes, type RequestSpec, utm } from '../request-spec.js';
import { eventsOf, type World, type WorldClick, type WorldConversion } from '../world.js';
import { EXISTING } from './entities.js';

/** An analytics request in structured form, from which this file computes the expected groups without SQL. */
export interface AnalyticsSpec {
  readonly event: AnalyticsEvent;
  readonly grouping: Exclude<Grouping, 'timeseries'>;
  readonly filters: RequestSpec;
}

/** A group: the values of its key columns, and its numbers. */
export interface Group {
  readonly key: readonly (string | number)[];
  readonly numbers: AnalyticsNumbers;
}

type AnyEvent = WorldClick | WorldConversion;
type Keys = readonly (readonly (string | number)[])[];

export function kindsOf(event: AnalyticsEvent): readonly EventKind[] {
  return event === 'composite' ? EVENT_KINDS : [event];
}

const isKnown = (value: string) => value !== '' && value !== 'Unknown';
const among = (numbers: readonly number[], existing: readonly number[]): Keys =>
  numbers.filter((number) => existing.includes(number)).map((number) => [number]);

/** The keys of the groups that an event counts in. */
function keysOf(world: World, event: AnyEvent, grouping: AnalyticsSpec['grouping']): Keys {
  const click = 'click' in event ? event.click : event;
  const link = world.links.find(({ number }) => number === click.link)!;
  const partner = world.partners.find(({ number }) => number === link.partner);
  const known = (...values: string[]): Keys => (values.every(isKnown) ? [values] : []);
  const withoutQuery = (url: string) => url.replace(/\?.*$/s, '');
  switch (grouping) {
    case 'count':
      return [[]];
    case 'continents':
      return (CONTINENTS as readonly string[]).includes(click.continent) ? [[click.continent]] : [];
    case 'countries':
      return known(click.country);
    case 'regions':
      return known(click.country, click.region);
    case 'cities':
      return isKnown(click.country) && isKnown(click.city) ? [[click.country, click.region, click.city]] : [];
    case 'devices':
      return known(click.device);
    case 'browsers':
      return known(click.browser);
    case 'os':
      return known(click.os);
    case 'triggers':
      return [[click.trigger]];
    case 'referers':
      return known(click.referer);
    case 'referer_urls':
      return known(withoutQuery(click.refererUrl));
    case 'top_urls':
      return known(click.url);
    case 'top_base_urls':
      return known(withoutQuery(click.url));
    case 'top_links':
      return [[click.link]];
    case 'top_domains':
      return known(link.domain);
    case 'top_folders':
      return among([link.folder], EXISTING.folders);
    case 'top_link_tags':
      return among(link.tags, EXISTING.tags);
    case 'top_partners':
      return partner === undefined ? [] : [[partner.number]];
    case 'top_groups':
      return partner === undefined ? [] : among([partner.group], EXISTING.groups);
    case 'top_partner_tags':
      return partner === undefined ? [] : among(partner.tags, EXISTING.partnerTags);
    default:
      return known(utm(click.url, grouping.slice(0, -1)));
  }
}

/** The numbers for a single event. */
export function numbersOf(kind: EventKind, event: AnyEvent): AnalyticsNumbers {
  const saleAmount = kind === 'sales' && 'amount' in event ? event.amount : 0;
  return { clicks: 0, leads: 0, sales: 0, saleAmount, [kind]: 1 };
}

export function sum(a: AnalyticsNumbers, b: AnalyticsNumbers): AnalyticsNumbers {
  return {
    clicks: a.clicks + b.clicks,
    leads: a.leads + b.leads,
    sales: a.sales + b.sales,
    saleAmount: a.saleAmount + b.saleAmount,
  };
}

export const NOTHING: AnalyticsNumbers = { clicks: 0, leads: 0, sales: 0, saleAmount: 0 };

function compareKeys(a: Group['key'], b: Group['key']): number {
  for (const [index, left] of a.entries()) {
    const right = b[index]!;
    const order =
      typeof left === 'number' ? left - Number(right) : Buffer.compare(Buffer.from(left), Buffer.from(String(right)));
    if (order !== 0) return order;
  }
  return 0;
}

const OWNER_GROUPINGS: readonly Grouping[] = [
  'top_domains',
  'top_folders',
  'top_link_tags',
  'top_partners',
  'top_groups',
  'top_partner_tags',
];

/** The expected groups, computed from the events one by one, largest first. */
export function groupsIn(world: World, { event, grouping, filters }: AnalyticsSpec): Group[] {
  const groups = new Map<string, Group>();
  if (grouping === 'count') groups.set('[]', { key: [], numbers: NOTHING });
  for (const kind of kindsOf(event)) {
    for (const found of eventsOf(world, kind)) {
      if (!passes(world, { ...filters, event: kind }, found)) continue;
      for (const key of keysOf(world, found, grouping)) {
        const text = JSON.stringify(key);
        const numbers = sum(groups.get(text)?.numbers ?? NOTHING, numbersOf(kind, found));
        groups.set(text, { key, numbers });
      }
    }
  }
  const isByAmount = event === 'sales' || (event === 'composite' && OWNER_GROUPINGS.includes(grouping));
  const by = isByAmount ? 'saleAmount' : event === 'leads' ? 'leads' : 'clicks';
  return [...groups.values()].sort((a, b) => b.numbers[by] - a.numbers[by] || compareKeys(a.key, b.key));
}
