import { type Catalog, type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { formatResourceId, type ResourceKind } from '@waymark/contract';
import {
  type BoundAnalytics,
  type CountedGroup,
  countOf,
  type EventGrouping,
  GROUP_FIELDS,
  timeseriesOf,
} from '@waymark/event-query';

/** Groupings by something that has an id. */
type EntityGrouping = Exclude<BoundAnalytics['grouping'], EventGrouping | 'count' | 'timeseries'>;

/** Where the things of a grouping come from, and what a row says of one. */
interface Entity<Found> {
  readonly kind: ResourceKind;
  readonly getMany: (workspaceId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, Found>>;
  readonly fields: (found: Found) => Readonly<Record<string, unknown>>;
}

/** What a row of `top_links` says of a link. */
export function linkFields(link: LinkRecord) {
  const { id, domain, key, url, title, comments, folderId, partnerId, createdAt } = link;
  const shortLink = shortLinkOf(domain, key);
  return { link: id, id, domain, key, shortLink, url, title, comments, folderId, partnerId, createdAt };
}

type Answering = (workspaceId: string, groups: readonly CountedGroup[]) => Promise<object[]>;

/** What was removed since it was counted is left out. */
function answering<Found>({ kind, getMany, fields }: Entity<Found>): Answering {
  return async (workspaceId, groups) => {
    const ids = groups.map(({ key: [number = ''] }) => formatResourceId(kind, number));
    const found = await getMany(workspaceId, ids);
    return groups.flatMap(({ numbers }, index) => {
      const entity = found.get(ids[index] ?? '');
      return entity === undefined ? [] : { ...fields(entity), ...numbers };
    });
  };
}

function entities(catalog: Catalog): Readonly<Record<EntityGrouping, Answering>> {
  const { links, folders, tags, partners, groups, partnerTags } = catalog;
  return {
    top_links: answering({
      kind: 'link',
      getMany: links.getMany,
      fields: linkFields,
    }),
    top_folders: answering({
      kind: 'folder',
      getMany: folders.getMany,
      fields: ({ id, name, accessLevel }) => ({ folderId: id, folder: { id, name, accessLevel } }),
    }),
    top_link_tags: answering({
      kind: 'tag',
      getMany: tags.getMany,
      fields: ({ id, name, color }) => ({ tagId: id, tag: { id, name, color } }),
    }),
    top_partners: answering({
      kind: 'partner',
      getMany: partners.getMany,
      fields: ({ id, name, email, image, country }) => ({
        partnerId: id,
        partner: { id, name, email, image, payoutsEnabledAt: null, country },
      }),
    }),
    top_groups: answering({
      kind: 'partnerGroup',
      getMany: groups.getMany,
      fields: ({ id, name, slug, color }) => ({ groupId: id, group: { id, name, slug, color } }),
    }),
    top_partner_tags: answering({
      kind: 'partnerTag',
      getMany: partnerTags.getMany,
      fields: ({ id, name }) => ({ partnerTagId: id, partnerTag: { id, name } }),
    }),
  };
}

/** Makes the body of an answer from its groups. */
export type AnswerBody = (
  workspaceId: string,
  request: BoundAnalytics,
  groups: readonly CountedGroup[],
) => Promise<object>;

export function createAnswerBody(catalog: Catalog): AnswerBody {
  const answerOf = entities(catalog);
  return async (workspaceId, { grouping, timeline }, groups) => {
    if (timeline !== undefined) return timeseriesOf(timeline, groups);
    if (grouping === 'count' || grouping === 'timeseries') return countOf(groups);
    if (!(grouping in GROUP_FIELDS)) return answerOf[grouping as EntityGrouping](workspaceId, groups);
    const fieldsOf = GROUP_FIELDS[grouping as EventGrouping];
    return groups.map(({ key, numbers }) => ({ ...fieldsOf(key), ...numbers }));
  };
}
