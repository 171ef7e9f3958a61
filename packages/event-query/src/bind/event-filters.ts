import type { EventKind, MultiValueFilter } from '@waymark/contract';
import { metadataCondition } from '../metadata-query/metadata-condition.js';
import type { Filter } from '../parse/parsed-request.js';
import { anyOf } from '../sql/conditions.js';
import type { Condition } from '../sql/sql-nodes.js';
import { customerCondition } from './customer-filter.js';
import { type FilterConditions, filterConditions } from './filter-conditions.js';
import type { LinkParameter } from './link-filters.js';
import { foldedTextIn, idIn, type Matcher, textIn } from './matchers.js';

/** `US-CA` matches country and subdivision, a bare `CA` the subdivision of any country. */
function regionIn(values: readonly string[]): Condition | undefined {
  const bare: string[] = [];
  const regionsByCountry = new Map<string, string[]>();
  for (const value of values) {
    const dash = value.indexOf('-');
    const country = value.slice(0, Math.max(dash, 0));
    if (dash < 0) bare.push(value);
    else regionsByCountry.set(country, [...(regionsByCountry.get(country) ?? []), value.slice(dash + 1)]);
  }
  const qualified = [...regionsByCountry].map(
    ([country, regions]): Condition => ({
      type: 'and',
      of: [
        { type: 'compare', column: 'country', operator: '=', value: { type: 'String', value: country } },
        textIn('region')(regions),
      ],
    }),
  );
  return anyOf(bare.length === 0 ? qualified : [textIn('region')(bare), ...qualified]);
}

/** The multi-value filters on columns of the event. */
const MATCHERS: Readonly<Record<Exclude<MultiValueFilter, LinkParameter>, Matcher>> = {
  linkId: idIn('link_id', 'link'),
  country: textIn('country'),
  city: textIn('city'),
  region: regionIn,
  continent: textIn('continent'),
  device: foldedTextIn('device'),
  browser: foldedTextIn('browser'),
  os: foldedTextIn('os'),
  trigger: textIn('trigger'),
  eventName: textIn('event_name'),
  referer: textIn('referer'),
  refererUrl: textIn('referer_url'),
  url: textIn('url_base'),
  utm_source: textIn('utm_source'),
  utm_medium: textIn('utm_medium'),
  utm_campaign: textIn('utm_campaign'),
  utm_term: textIn('utm_term'),
  utm_content: textIn('utm_content'),
};

function isEventParameter(parameter: MultiValueFilter): parameter is keyof typeof MATCHERS {
  return parameter in MATCHERS;
}

/** What a filter on events depends on besides its values. */
export interface EventScope {
  readonly kind: EventKind;
  readonly workspace: bigint;
  /** Id of the customer that the request selects by external id; undefined = no such customer. */
  readonly customerId: string | undefined;
}

/**
 * The conditions of a filter on the event's row. Undefined for filters on links, and for filters that do not apply to this kind
 * of event, which are ignored.
 */
export function eventFilterConditions(filter: Filter, scope: EventScope): FilterConditions | undefined {
  switch (filter.type) {
    case 'list': {
      const { parameter, values } = filter;
      if (parameter === 'eventName' && scope.kind === 'clicks') return undefined;
      return isEventParameter(parameter) ? filterConditions(values, MATCHERS[parameter]) : undefined;
    }
    case 'saleType':
      return scope.kind === 'sales' ? { include: textIn('sale_type')([filter.saleType]) } : undefined;
    case 'customer': {
      const customerId = filter.customer.by === 'id' ? filter.customer.id : scope.customerId;
      return { include: customerCondition(scope.workspace, scope.kind, customerId) };
    }
    case 'metadata':
      return scope.kind === 'clicks' ? undefined : { include: metadataCondition(filter.query) };
    case 'root':
    case 'program':
      return undefined;
  }
}
