import { type MultiValueFilter, ROOT_KEY } from '@waymark/contract';
import type { Filter } from '../parse/parsed-request.js';
import { anyOf, NOTHING, not } from '../sql/conditions.js';
import type { Condition, TableRead } from '../sql/sql-nodes.js';
import { type FilterConditions, filterConditions } from './filter-conditions.js';
import { anyIdIn, idIn, type Matcher, textIn } from './matchers.js';

/** Multi-value filters on the current state of the event's link, or of the link's partner. */
export type LinkParameter = 'domain' | 'tenantId' | 'tagId' | 'folderId' | 'partnerId' | 'partnerTagId' | 'groupId';

/** Matches links whose partner meets the condition; links without a partner do not match. */
function partnerMatches(match: Matcher) {
  return (workspace: bigint): Matcher =>
    (values) => {
      const condition = match(values);
      if (condition === undefined) return undefined;
      const read: TableRead = { table: 'partners', isFinal: true, workspace, columns: ['id'], where: [condition] };
      return { type: 'inRead', columns: ['partner_id'], read };
    };
}

const MATCHERS: Readonly<Record<LinkParameter, (workspace: bigint) => Matcher>> = {
  domain: () => textIn('domain'),
  tenantId: () => textIn('tenant_id'),
  tagId: () => anyIdIn('tag_ids', 'tag'),
  folderId: () => idIn('folder_id', 'folder'),
  partnerId: () => idIn('partner_id', 'partner'),
  partnerTagId: partnerMatches(anyIdIn('partner_tag_ids', 'partnerTag')),
  groupId: partnerMatches(idIn('group_id', 'partnerGroup')),
};

/** A tenant or a partner usually has few links; a domain or a tag may have very many. */
const SELECTIVE: ReadonlySet<MultiValueFilter> = new Set(['tenantId', 'partnerId']);

function isLinkParameter(parameter: MultiValueFilter): parameter is LinkParameter {
  return parameter in MATCHERS;
}

/** What a filter on links depends on besides its values. */
export interface LinkScope {
  readonly workspace: bigint;
  /** The workspace's own program: a filter on any other matches nothing. */
  readonly ownProgramId: string | null;
}

/** The conditions of a filter on the link's row, or on its partner's; undefined for filters on events. */
export function linkFilterConditions(
  filter: Filter,
  { workspace, ownProgramId }: LinkScope,
): FilterConditions | undefined {
  switch (filter.type) {
    case 'list': {
      const { parameter, values } = filter;
      if (!isLinkParameter(parameter)) return undefined;
      return { ...filterConditions(values, MATCHERS[parameter](workspace)), isSelective: SELECTIVE.has(parameter) };
    }
    case 'root': {
      const isRoot = textIn('key')([ROOT_KEY]);
      return filter.isRoot ? { include: isRoot } : { exclude: isRoot };
    }
    case 'program': {
      if (filter.programId !== ownProgramId) return { include: NOTHING };
      return filterConditions({ include: [filter.programId], exclude: [] }, idIn('program_id', 'program'));
    }
    case 'saleType':
    case 'customer':
    case 'metadata':
      return undefined;
  }
}

/** Excludes links in folders that only owners may see. */
export function notInHiddenFolder(workspace: bigint): FilterConditions {
  const isHidden: Condition = {
    type: 'compare',
    column: 'access_level',
    operator: '=',
    value: { type: 'String', value: '' },
  };
  const read: TableRead = { table: 'folders', isFinal: true, workspace, columns: ['id'], where: [isHidden] };
  return { exclude: { type: 'inRead', columns: ['folder_id'], read } };
}

/** The filters on links as subqueries for link ids. */
export interface LinkSubqueries {
  /** Ids of the links that match; never includes removed links. Undefined = any link, except `refused`. */
  readonly allowed: TableRead | undefined;
  /** Ids of the links that do not match. */
  readonly refused: TableRead | undefined;
  /** No link can match. */
  readonly isNone: boolean;
  /** Whether the filters usually match few links. */
  readonly isSelective: boolean;
}

/**
 * Combines all filters on links into one subquery. If any filter includes values, it selects the links that match all filters.
 * If filters only exclude values, it selects the links to exclude: that set is usually smaller, and links without the attribute
 * stay included.
 *
 * @param among a condition on `id` that every link of the result meets: avoids a scan of all links when the request lists a few
 */
export function linkSubqueries(
  workspace: bigint,
  filters: readonly FilterConditions[],
  among: readonly Condition[],
): LinkSubqueries {
  const include = filters.flatMap((filter) => filter.include ?? []);
  const exclude = anyOf(filters.flatMap((filter) => filter.exclude ?? []));
  const read = (where: readonly Condition[]): TableRead => ({
    table: 'links',
    isFinal: true,
    workspace,
    columns: ['id'],
    where: [...among, ...where],
  });
  const isNone = include.some(({ type }) => type === 'nothing');
  if (isNone || include.length === 0) {
    return { allowed: undefined, refused: exclude && read([exclude]), isNone, isSelective: false };
  }
  return {
    allowed: read(exclude === undefined ? include : [...include, not(exclude)]),
    refused: undefined,
    isNone,
    isSelective: filters.some((filter) => filter.include !== undefined && filter.isSelective === true),
  };
}

/**
 * Subquery for the removed links, whose events are excluded. Removal writes a row with `deleted = 1`, and ids are never reused.
 * Read without FINAL, which would drop exactly these rows.
 */
export function removedLinks(workspace: bigint, among: readonly Condition[] = []): TableRead {
  const isRemoved: Condition = {
    type: 'compare',
    column: 'deleted',
    operator: '=',
    value: { type: 'UInt8', value: 1n },
  };
  return { table: 'links', isFinal: false, workspace, columns: ['id'], where: [...among, isRemoved] };
}
