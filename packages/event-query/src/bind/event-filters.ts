import type { EventKind, MultiValueFilter } from '@waymark/contract';
import { metadataCondition } from '../metadata-query/metadata-condition.js';
import type { Filter } from '../parse/parsed-request.js';
import { anyOf } from '../sql/conditions.js';
import type { Condition } from '../sql/sql-nodes.js';
import { customerCondition } from './customer-filter.js';
import { type Demand, demandOf } from './filter-conditions.js';
import type { LinkParameter } from './link-filters.js';
import { foldedTextIn, idIn, type Matcher, textIn } from './matchers.js';

/** `US-CA` means country and subdivision, a bare `CA` the subdivision of any country. */
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

/** Every multi-value filter that looks at the stored event, and the column it looks at. */
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

/** What is known beside the request itself. */
export interface EventScope {
  readonly kind: EventKind;
  readonly workspace: bigint;
  /** Id of the customer that was given by external id; undefined = there is none. */
  readonly customerId: string | undefined;
}

/**
 * What a filter demands of the event's row. Undefined for filters that look at the link, and for those that this kind of
 * event does not have, which are ignored.
 */
export function eventDemand(filter: Filter, scope: EventScope): Demand | undefined {
  switch (filter.type) {
    case 'list': {
      const { parameter, values } = filter;
      if (parameter === 'eventName' && scope.kind === 'clicks') return undefined;
      return isEventParameter(parameter) ? demandOf(values, MATCHERS[parameter]) : undefined;
    }
    case 'saleType':
      return scope.kind === 'sales' ? { wanted: textIn('sale_type')([filter.saleType]) } : undefined;
    case 'customer': {
      const customerId = filter.customer.by === 'id' ? filter.customer.id : scope.customerId;
      return { wanted: customerCondition(scope.workspace, scope.kind, customerId) };
    }
    case 'metadata':
      return scope.kind === 'clicks' ? undefined : { wanted: metadataCondition(filter.query) };
    case 'root':
    case 'program':
      return undefined;
  }
}
