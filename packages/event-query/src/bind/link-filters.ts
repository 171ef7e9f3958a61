import { type MultiValueFilter, ROOT_KEY } from '@waymark/contract';
import type { Filter } from '../parse/parsed-request.js';
import { anyOf, NOTHING, not } from '../sql/conditions.js';
import type { Condition, TableRead } from '../sql/sql-nodes.js';
import { type Demand, demandOf } from './filter-conditions.js';
import { anyIdIn, idIn, type Matcher, textIn } from './matchers.js';

/** Multi-value filters that look at the link as it is now, or at its partner. */
export type LinkParameter = 'domain' | 'tenantId' | 'tagId' | 'folderId' | 'partnerId' | 'partnerTagId' | 'groupId';

/** The link's partner is one that the matcher finds; a link without partner has none. */
function partnerHas(match: Matcher) {
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
  partnerTagId: partnerHas(anyIdIn('partner_tag_ids', 'partnerTag')),
  groupId: partnerHas(idIn('group_id', 'partnerGroup')),
};

/** A customer's or partner's own links are few; domains and tags are on many. */
const NARROW: ReadonlySet<MultiValueFilter> = new Set(['tenantId', 'partnerId']);

function isLinkParameter(parameter: MultiValueFilter): parameter is LinkParameter {
  return parameter in MATCHERS;
}

/** What is known beside the request itself. */
export interface LinkScope {
  readonly workspace: bigint;
  /** The workspace's own program: a filter on any other matches nothing. */
  readonly ownProgramId: string | null;
}

/** What a filter demands of the link's row, or of its partner's; undefined for filters that look at the event. */
export function linkDemand(filter: Filter, { workspace, ownProgramId }: LinkScope): Demand | undefined {
  switch (filter.type) {
    case 'list': {
      const { parameter, values } = filter;
      if (!isLinkParameter(parameter)) return undefined;
      return { ...demandOf(values, MATCHERS[parameter](workspace)), isNarrow: NARROW.has(parameter) };
    }
    case 'root': {
      const isRoot = textIn('key')([ROOT_KEY]);
      return filter.isRoot ? { wanted: isRoot } : { unwanted: isRoot };
    }
    case 'program': {
      if (filter.programId !== ownProgramId) return { wanted: NOTHING };
      return demandOf({ include: [filter.programId], exclude: [] }, idIn('program_id', 'program'));
    }
    case 'saleType':
    case 'customer':
    case 'metadata':
      return undefined;
  }
}

/** The link is in no folder that is hidden from members who are not owners. */
export function inNoHiddenFolder(workspace: bigint): Demand {
  const isHidden: Condition = {
    type: 'compare',
    column: 'access_level',
    operator: '=',
    value: { type: 'String', value: '' },
  };
  const read: TableRead = { table: 'folders', isFinal: true, workspace, columns: ['id'], where: [isHidden] };
  return { unwanted: { type: 'inRead', columns: ['folder_id'], read } };
}

/** Which links can match, and which cannot. */
export interface LinkSets {
  /** Ids of the only links whose events can match; removed links are never among them. */
  readonly allowed: TableRead | undefined;
  /** Ids of links whose events cannot match. */
  readonly refused: TableRead | undefined;
  /** No link can match. */
  readonly isNone: boolean;
  /** The allowed links are few, as far as one can tell without looking. */
  readonly areLikelyFew: boolean;
}

/**
 * One set of links that stands for everything demanded of the link. Something wanted: the links that meet all demands. Only
 * unwanted things: the links that have any of them, which is the smaller set and lets a link pass that has none of an
 * attribute.
 *
 * @param among a condition on `id` that every link of the answer meets anyway: a few listed links need not be found by a scan
 */
export function linkSets(workspace: bigint, demands: readonly Demand[], among: readonly Condition[]): LinkSets {
  const wanted = demands.flatMap((demand) => demand.wanted ?? []);
  const unwanted = anyOf(demands.flatMap((demand) => demand.unwanted ?? []));
  const read = (where: readonly Condition[]): TableRead => ({
    table: 'links',
    isFinal: true,
    workspace,
    columns: ['id'],
    where: [...among, ...where],
  });
  const isNone = wanted.some(({ type }) => type === 'nothing');
  if (isNone || wanted.length === 0) {
    return { allowed: undefined, refused: unwanted && read([unwanted]), isNone, areLikelyFew: false };
  }
  return {
    allowed: read(unwanted === undefined ? wanted : [...wanted, not(unwanted)]),
    refused: undefined,
    isNone,
    areLikelyFew: demands.some((demand) => demand.wanted !== undefined && demand.isNarrow === true),
  };
}

/**
 * Links that were removed: their events are not listed. The rows stay in the table, marked, and no id comes back;
 * they are read without FINAL, which would drop exactly them.
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
