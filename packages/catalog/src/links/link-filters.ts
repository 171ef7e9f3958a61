import {
  addressContains,
  anyOf,
  contains,
  equals,
  hasAnyId,
  hasId,
  ifDefined,
  type SqlCondition,
} from '../lists/list-conditions.js';
import { IN_NO_HIDDEN_FOLDER } from './caller-visibility.js';

/** Filters of a list of links; a filter that is undefined is not applied. */
export interface LinkFilters {
  readonly domain?: string | undefined;
  /** Links that have at least one of these tags. */
  readonly tagIds?: readonly string[] | undefined;
  /** Null = links in no folder. */
  readonly folderId?: string | null | undefined;
  /** Part of the short link or the destination, in any case. */
  readonly search?: string | undefined;
  readonly userId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly partnerId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Links with at least one tag. */
  readonly hasTags?: boolean | undefined;
  /** Leaves out links in folders that not every member may see. */
  readonly hidesFolders?: boolean | undefined;
  /** Includes archived links. */
  readonly showArchived: boolean;
}

const SHORT_LINK = "concat('https://', domain, if(key = '_root', '', '/'), if(key = '_root', '', key))";

function inFolder(folderId: string | null): SqlCondition {
  return folderId === null ? { sql: 'folder_id = 0', values: {} } : hasId('folder_id', 'folder', [folderId]);
}

/** The conditions of all filters except those for archived links and hidden folders. If there are any, only few links may meet them. */
function narrowing(filters: LinkFilters): SqlCondition[] {
  return [
    ...ifDefined(filters.domain, (domain) => equals('domain', domain)),
    ...ifDefined(filters.tagIds, (ids) => hasAnyId('tag_ids', 'tag', ids)),
    ...ifDefined(filters.folderId, inFolder),
    ...ifDefined(filters.search, (text) => anyOf([addressContains(SHORT_LINK, text), contains(['url'], text)])),
    ...ifDefined(filters.userId, (id) => equals('user_id', id)),
    ...ifDefined(filters.tenantId, (id) => equals('tenant_id', id)),
    ...ifDefined(filters.partnerId, (id) => hasId('partner_id', 'partner', [id])),
    ...ifDefined(filters.ids, (ids) => hasId('id', 'link', ids)),
    ...(filters.hasTags ? [{ sql: 'notEmpty(tag_ids)', values: {} }] : []),
  ];
}

/** The link is not archived. */
const NOT_ARCHIVED: SqlCondition = { sql: 'archived = 0', values: {}, selects: 'most' };

/** All conditions that a listed link must meet. */
export function linkConditions(filters: LinkFilters): SqlCondition[] {
  return [
    ...narrowing(filters),
    ...(filters.hidesFolders ? [IN_NO_HIDDEN_FOLDER] : []),
    ...(filters.showArchived ? [] : [NOT_ARCHIVED]),
  ];
}
