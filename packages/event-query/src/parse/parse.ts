import {
  type EventsQuery,
  EXTERNAL_ID_PREFIX,
  fieldError,
  MULTI_VALUE_FILTERS,
  type MultiValueFilter,
  parseExternalIdParameter,
} from '@waymark/contract';
import { parseTimeRange } from '../dates/time-range.js';
import { parseMetadataQuery } from '../metadata-query/parser.js';
import type { Cursor } from './cursor.js';
import { normaliseValues } from './filter-values.js';
import { firstItem, parseMultiValue, type ValueLists } from './multi-value.js';
import { parsePage } from './page.js';
import type { CustomerReference, Filter, LinkReference, ParsedFilters, ParsedRequest } from './parsed-request.js';

/** The filter parameters, which `/events` and `/analytics` have in common. */
export type FilterQuery = Omit<EventsQuery, 'page' | 'cursor' | 'limit' | 'sortOrder' | 'sortBy' | 'order'>;

type Lists = Map<MultiValueFilter, ValueLists>;

/** The multi-value filters of a query, including those in the deprecated parameters `tagIds` and `qr`. */
function parseLists(query: FilterQuery): Lists {
  const lists: Lists = new Map();
  for (const parameter of MULTI_VALUE_FILTERS) {
    const values = parseMultiValue(parameter, query[parameter]);
    if (values !== undefined) lists.set(parameter, normaliseValues(parameter, values));
  }
  const tagIds = parseMultiValue('tagIds', query.tagIds);
  if (tagIds !== undefined && !lists.has('tagId')) lists.set('tagId', normaliseValues('tagId', tagIds, 'tagIds'));
  if (query.qr !== undefined && !lists.has('trigger')) {
    lists.set('trigger', { include: [query.qr ? 'qr' : 'link'], exclude: [] });
  }
  return lists;
}

/** The single link that `externalId` or `domain` with `key` selects, if any. The filter `linkId` takes precedence over both. */
function parseLink(query: FilterQuery, lists: Lists): LinkReference | undefined {
  const domain = lists.get('domain')?.include[0];
  if (query.key !== undefined && domain === undefined) {
    throw fieldError('invalid_combination', 'key', 'must be used together with domain', 'bad_request');
  }
  if (lists.has('linkId')) return undefined;
  if (query.externalId !== undefined) {
    return { by: 'externalId', externalId: parseExternalIdParameter(query.externalId) };
  }
  if (query.key !== undefined && domain !== undefined) return { by: 'address', domain, key: query.key };
  return undefined;
}

function customerOf(customerId: string): CustomerReference {
  return customerId.startsWith(EXTERNAL_ID_PREFIX)
    ? { by: 'externalId', externalId: customerId.slice(EXTERNAL_ID_PREFIX.length) }
    : { by: 'id', id: customerId };
}

/**
 * Parses the filter parameters. Does no look-ups: ids in the values are resolved later.
 *
 * @throws ApiError 400 or 422 with the name of the invalid parameter
 */
export function parseFilters(query: FilterQuery, nowMs: number): ParsedFilters {
  const range = parseTimeRange(query, nowMs);
  const lists = parseLists(query);
  const link = parseLink(query, lists);
  // A selected link implies its domain. A domain filter could only exclude it by mistake, e.g. by the spelling of the domain.
  if (link !== undefined) lists.delete('domain');

  const filters: Filter[] = [...lists].map(([parameter, values]) => ({ type: 'list', parameter, values }));
  if (query.root !== undefined) filters.push({ type: 'root', isRoot: query.root });
  if (query.saleType !== undefined) filters.push({ type: 'saleType', saleType: query.saleType });
  if (query.programId !== undefined) filters.push({ type: 'program', programId: query.programId });
  if (query.customerId !== undefined) filters.push({ type: 'customer', customer: customerOf(query.customerId) });
  // Clicks have no metadata and ignore the query, but a malformed query is an error for them too.
  if (query.query !== undefined) filters.push({ type: 'metadata', query: parseMetadataQuery(query.query) });
  const folderId = query.folderId === undefined ? undefined : firstItem(query.folderId);
  return { kind: query.event ?? 'clicks', range, filters, link, folderId };
}

/**
 * Parses the query string of `GET /events`.
 *
 * @param nowMs epoch milliseconds; a request with a cursor uses the time of its first page instead
 * @param cursor the result of `parseCursor` for the same query
 * @throws ApiError 400 or 422 with the name of the invalid parameter
 */
export function parse(query: EventsQuery, nowMs: number, cursor?: Cursor): ParsedRequest {
  if (query.cursor !== undefined && cursor === undefined) {
    throw new TypeError('the cursor of the request must be parsed before parse');
  }
  return { ...parseFilters(query, cursor?.nowMs ?? nowMs), page: parsePage(query, cursor?.after) };
}
