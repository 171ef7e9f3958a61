import { type EventKind, parseResourceId } from '@waymark/contract';
import { withLinkIds } from '../parse/link-names.js';
import type { Page } from '../parse/page.js';
import type { ParsedFilters, ParsedRequest } from '../parse/parsed-request.js';
import { not, notInRead } from '../sql/conditions.js';
import type { Condition, TableRead } from '../sql/sql-nodes.js';
import { eventDemand } from './event-filters.js';
import type { Demand } from './filter-conditions.js';
import { inNoHiddenFolder, linkDemand, linkSets, removedLinks } from './link-filters.js';
import { numbersOf } from './matchers.js';

/** Whose events are meant, and what had to be looked up to select them. */
export interface BindScope {
  readonly workspaceId: string;
  /** The workspace's own program. */
  readonly programId: string | null;
  /** Id of the link that the request refers to by external id or address. */
  readonly linkId?: string | undefined;
  /** Ids of the links that `linkId` names by external ids (`ext_…`); ids without a link are absent. */
  readonly linkIdByName?: ReadonlyMap<string, string> | undefined;
  /** Id of the customer that the request refers to by external id; undefined = there is none. */
  readonly customerId?: string | undefined;
  /** Events of links in folders that are hidden from members who are not owners are left out. */
  readonly hidesFolders?: boolean | undefined;
}

/** A request in terms of tables: every table reference in it carries the workspace. */
export interface BoundFilters {
  readonly kind: EventKind;
  readonly workspace: bigint;
  /** Undefined = since ever. */
  readonly fromMs: number | undefined;
  readonly toMs: number;
  /** On the columns of the event. */
  readonly conditions: readonly Condition[];
  /** The links the caller listed; undefined = none listed, so any link. */
  readonly listedLinks: readonly bigint[] | undefined;
  /** Ids of the only links whose events can match, found by their attributes. */
  readonly allowedLinks: TableRead | undefined;
  /** The attributes are such that few links share them, as a rule: to ask which pays the first time. */
  readonly areAllowedLinksLikelyFew: boolean;
  /** Ids of links whose events are not listed because they were removed; undefined when they cannot match anyway. */
  readonly removedLinks: TableRead | undefined;
  /** Known to match nothing. */
  readonly isEmpty: boolean;
}

export interface BoundRequest extends BoundFilters {
  readonly page: Page;
}

/** Event ids carry 42 bits of milliseconds: no event lies outside. */
export const EVENT_MS_MAX = 2 ** 42 - 1;

function workspaceNumber(workspaceId: string): bigint {
  const number = parseResourceId('workspace', workspaceId);
  if (number === undefined) throw new TypeError('bind needs the id of a workspace');
  return BigInt(number);
}

function conditionsOf({ wanted, unwanted }: Demand): Condition[] {
  return [...(wanted === undefined ? [] : [wanted]), ...(unwanted === undefined ? [] : [not(unwanted)])];
}

/** Numbers of the links that the caller lists, by `linkId` or by reference; undefined when any link can match. */
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
 * Ties a request to the tables, their columns and its workspace. Filters on the link become sets of link ids, and events of
 * removed links are left out.
 */
export function bindFilters(parsed: ParsedFilters, scope: BindScope): BoundFilters {
  const { kind, range } = parsed;
  const filters = withLinkIds(parsed.filters, scope.linkIdByName);
  const workspace = workspaceNumber(scope.workspaceId);
  const eventScope = { kind, workspace, customerId: scope.customerId };
  const listed = listedLinks({ ...parsed, filters }, scope.linkId);
  const among = idIn('id', listed);
  const linkDemands = filters.flatMap(
    (filter) => linkDemand(filter, { workspace, ownProgramId: scope.programId }) ?? [],
  );
  const sets = linkSets(
    workspace,
    scope.hidesFolders ? [...linkDemands, inNoHiddenFolder(workspace)] : linkDemands,
    among,
  );
  const conditions = [
    ...(parsed.link === undefined ? [] : idIn('link_id', listed)),
    ...filters.flatMap((filter) => eventDemand(filter, eventScope) ?? []).flatMap(conditionsOf),
    ...notInRead(sets.refused),
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
    areAllowedLinksLikelyFew: sets.areLikelyFew,
    removedLinks: sets.allowed === undefined ? removedLinks(workspace, among) : undefined,
    isEmpty: toMs < (fromMs ?? 0) || sets.isNone || isNothing,
  };
}

/** {@link bindFilters} for a page of events. */
export function bind(parsed: ParsedRequest, scope: BindScope): BoundRequest {
  return { ...bindFilters(parsed, scope), page: parsed.page };
}
