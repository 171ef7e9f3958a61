import { type EventKind, parseResourceId } from '@waymark/contract';
import { resolveExternalLinkIds } from '../parse/external-link-ids.js';
import type { Page } from '../parse/page.js';
import type { ParsedFilters, ParsedRequest } from '../parse/parsed-request.js';
import { linkIn, not } from '../sql/conditions.js';
import type { Condition, TableRead } from '../sql/sql-nodes.js';
import { storedWithin } from '../sql/time-conditions.js';
import { eventFilterConditions } from './event-filters.js';
import type { FilterConditions } from './filter-conditions.js';
import { linkFilterConditions, linkSubqueries, notInHiddenFolder, removedLinks } from './link-filters.js';
import { numbersOf } from './matchers.js';

/** The workspace of the request, and the ids that had to be looked up for it. */
export interface BindScope {
  readonly workspaceId: string;
  /** The workspace's own program. */
  readonly programId: string | null;
  /** Id of the link that the request selects by external id, or by domain and key. */
  readonly linkId?: string | undefined;
  /** Link ids for the external ids (`ext_…`) in the `linkId` filter; those without a link are absent. */
  readonly linkIdByExternalId?: ReadonlyMap<string, string> | undefined;
  /** Id of the customer that the request selects by external id; undefined = no such customer. */
  readonly customerId?: string | undefined;
  /** Whether to exclude links in folders that only owners may see. */
  readonly hidesFolders?: boolean | undefined;
}

/** The filters of a request as conditions on tables. Every table reference carries the workspace. */
export interface BoundFilters {
  readonly kind: EventKind;
  readonly workspace: bigint;
  /** Undefined = no lower bound. */
  readonly fromMs: number | undefined;
  readonly toMs: number;
  /** Conditions on the columns of the event table. */
  readonly conditions: readonly Condition[];
  /** The links that the request includes by id; undefined = any link. */
  readonly listedLinks: readonly bigint[] | undefined;
  /** Subquery for the ids of the links that pass the filters on links; undefined = no such filter. */
  readonly allowedLinks: TableRead | undefined;
  /** Whether the filters on links usually match few links, so that reading their ids before the first page pays off. */
  readonly isLinkFilterSelective: boolean;
  /** Subquery for the ids of removed links, whose events are excluded; undefined when they cannot match anyway. */
  readonly removedLinks: TableRead | undefined;
  /** Whether the filters can match no event. */
  readonly isEmpty: boolean;
}

/** A request for a page of events with its filters as conditions on tables. */
export interface BoundRequest extends BoundFilters {
  readonly page: Page;
}

/** Event ids have 42 bits for the time: no event is later than this. */
export const EVENT_MS_MAX = 2 ** 42 - 1;

function workspaceNumber(workspaceId: string): bigint {
  const number = parseResourceId('workspace', workspaceId);
  if (number === undefined) throw new TypeError('bind needs the id of a workspace');
  return BigInt(number);
}

function conditionsOf({ include, exclude }: FilterConditions): Condition[] {
  return [...(include === undefined ? [] : [include]), ...(exclude === undefined ? [] : [not(exclude)])];
}

/** The links that the request includes by id, as numbers; undefined when any link can match. */
function listedLinks(parsed: ParsedFilters, linkId: string | undefined): readonly bigint[] | undefined {
  if (parsed.link !== undefined) {
    const numbers = linkId === undefined ? [] : numbersOf('link', [linkId]);
    if (numbers.length === 0) throw new TypeError('the link of the request was not looked up before bind');
    return numbers;
  }
  const filter = parsed.filters.find((candidate) => candidate.type === 'list' && candidate.parameter === 'linkId');
  const include = filter?.type === 'list' ? filter.values.include : [];
  return include.length === 0 ? undefined : numbersOf('link', include);
}

function idIn(column: 'id' | 'link_id', numbers: readonly bigint[] | undefined): Condition[] {
  if (numbers === undefined || numbers.length === 0) return [];
  return [{ type: 'in', column, isFolded: false, values: { type: 'Array(UInt64)', value: numbers } }];
}

/**
 * Translates the filters of a request into conditions on the columns of a workspace's tables. Filters on links become
 * subqueries for link ids, and events of removed links are excluded.
 */
export function bindFilters(parsed: ParsedFilters, scope: BindScope): BoundFilters {
  const { kind, range } = parsed;
  const filters = resolveExternalLinkIds(parsed.filters, scope.linkIdByExternalId);
  const workspace = workspaceNumber(scope.workspaceId);
  const eventScope = { kind, workspace, customerId: scope.customerId };
  const listed = listedLinks({ ...parsed, filters }, scope.linkId);
  const among = idIn('id', listed);
  const linkFilters = filters.flatMap(
    (filter) => linkFilterConditions(filter, { workspace, ownProgramId: scope.programId }) ?? [],
  );
  const sets = linkSubqueries(
    workspace,
    scope.hidesFolders ? [...linkFilters, notInHiddenFolder(workspace)] : linkFilters,
    among,
  );
  const conditions = [
    ...(parsed.stored === undefined ? [] : storedWithin(parsed.stored)),
    ...(parsed.link === undefined ? [] : idIn('link_id', listed)),
    ...filters.flatMap((filter) => eventFilterConditions(filter, eventScope) ?? []).flatMap(conditionsOf),
    ...(sets.refused === undefined ? [] : [not(linkIn(sets.refused))]),
  ];
  const fromMs = range.fromMs === undefined || range.fromMs <= 0 ? undefined : range.fromMs;
  const toMs = Math.min(range.toMs, EVENT_MS_MAX);
  const isNothing = conditions.some(({ type }) => type === 'nothing');
  return {
    kind,
    workspace,
    fromMs,
    toMs,
    conditions,
    listedLinks: listed,
    allowedLinks: sets.allowed,
    isLinkFilterSelective: sets.isSelective,
    removedLinks: sets.allowed === undefined ? removedLinks(workspace, among) : undefined,
    isEmpty: toMs < (fromMs ?? 0) || sets.isNone || isNothing,
  };
}

/** {@link bindFilters} for a page of events. */
export function bind(parsed: ParsedRequest, scope: BindScope): BoundRequest {
  return { ...bindFilters(parsed, scope), page: parsed.page };
}
