import { type Catalog, isFolderHidden, type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { type AnalyticsNumbers, formatResourceId, type ResourceKind } from '@waymark/contract';
import {
  type BoundAnalytics,
  type CountedGroup,
  countOf,
  type EventGrouping,
  GROUP_FIELDS,
  timeseriesOf,
} from '@waymark/event-query';
import { forEachYielding, mapYielding } from '@waymark/http-kit';
import type { Caller } from '../events/find-references.js';

/** Groupings by a resource, such as links or tags. */
type EntityGrouping = Exclude<BoundAnalytics['grouping'], EventGrouping | 'count' | 'timeseries'>;

/** How to load the resources of a grouping, and which of their fields a response row has: `fields` makes a new object of them. */
interface Entity<Found> {
  readonly kind: ResourceKind;
  readonly getMany: (caller: Caller, ids: readonly string[]) => Promise<ReadonlyMap<string, Found>>;
  readonly fields: (found: Found) => object;
}

/** The fields of a link in a row of `top_links`. */
export function linkFields(link: LinkRecord) {
  const { id, domain, key, url, title, comments, folderId, partnerId, createdAt } = link;
  const shortLink = shortLinkOf(domain, key);
  return { link: id, id, domain, key, shortLink, url, title, comments, folderId, partnerId, createdAt };
}

/**
 * Adds the numbers of a group to its fields. In V8, a literal that spreads both takes thirty times as long, and the result takes twice as
 * long to serialise.
 */
export const groupRow = <Fields extends object>(fields: Fields, numbers: AnalyticsNumbers): Fields & AnalyticsNumbers =>
  Object.assign(fields, numbers);

/** Rows, in parts that are made on demand. */
export type RowParts = AsyncIterable<object[]>;

type RowBuilder = (caller: Caller, groups: readonly CountedGroup[]) => RowParts;

/** Rows of a part: a link may have texts of 64 kB, and an image of 100 kB, which its row does not have; there may be 5000 groups. */
const ROWS_OF_PART = 250;

/** The groups in parts of {@link ROWS_OF_PART}. */
function* partsOf(groups: readonly CountedGroup[]): Generator<readonly CountedGroup[]> {
  for (let start = 0; start < groups.length; start += ROWS_OF_PART) yield groups.slice(start, start + ROWS_OF_PART);
}

/** Makes the rows of a grouping by a resource. A resource that was removed or hidden after the query counted it has no row. */
function rowBuilder<Found>({ kind, getMany, fields }: Entity<Found>): RowBuilder {
  return async function* (caller, groups) {
    for (const part of partsOf(groups)) {
      const rows: object[] = [];
      const ids = part.map(({ key: [number = ''] }) => formatResourceId(kind, number));
      const found = await getMany(caller, ids);
      await forEachYielding(part.entries(), ([index, { numbers }]) => {
        const entity = found.get(ids[index] ?? '');
        if (entity !== undefined) rows.push(groupRow(fields(entity), numbers));
      });
      yield rows;
    }
  };
}

function rowBuilders(catalog: Catalog): Readonly<Record<EntityGrouping, RowBuilder>> {
  const { links, folders, tags, partners, groups, partnerTags, hiddenFolders } = catalog;
  return {
    top_links: rowBuilder({
      kind: 'link',
      async getMany({ workspaceId, visibility }, ids) {
        const found = [...(await links.getMany(workspaceId, ids)).values()];
        const visible = await hiddenFolders.visible(workspaceId, visibility, found);
        return new Map(visible.map((link) => [link.id, link]));
      },
      fields: linkFields,
    }),
    top_folders: rowBuilder({
      kind: 'folder',
      async getMany({ workspaceId, visibility }, ids) {
        const found = await folders.getMany(workspaceId, ids);
        return new Map([...found].filter(([, folder]) => !isFolderHidden(visibility, folder)));
      },
      fields: ({ id, name, accessLevel }) => ({ folderId: id, folder: { id, name, accessLevel } }),
    }),
    top_link_tags: rowBuilder({
      kind: 'tag',
      getMany: ({ workspaceId }, ids) => tags.getMany(workspaceId, ids),
      fields: ({ id, name, color }) => ({ tagId: id, tag: { id, name, color } }),
    }),
    top_partners: rowBuilder({
      kind: 'partner',
      getMany: ({ workspaceId }, ids) => partners.getMany(workspaceId, ids),
      fields: ({ id, name, email, image, country }) => ({
        partnerId: id,
        partner: { id, name, email, image, payoutsEnabledAt: null, country },
      }),
    }),
    top_groups: rowBuilder({
      kind: 'partnerGroup',
      getMany: ({ workspaceId }, ids) => groups.getMany(workspaceId, ids),
      fields: ({ id, name, slug, color }) => ({ groupId: id, group: { id, name, slug, color } }),
    }),
    top_partner_tags: rowBuilder({
      kind: 'partnerTag',
      getMany: ({ workspaceId }, ids) => partnerTags.getMany(workspaceId, ids),
      fields: ({ id, name }) => ({ partnerTagId: id, partnerTag: { id, name } }),
    }),
  };
}

/** An answer: the numbers of one group, or rows. */
export type AnalyticsAnswer = { readonly numbers: AnalyticsNumbers } | { readonly rows: RowParts };

/** Builds the answer from the groups of the query result. */
export type AnswerOf = (caller: Caller, request: BoundAnalytics, groups: readonly CountedGroup[]) => AnalyticsAnswer;

async function* rowsOf(groups: readonly CountedGroup[], rowOf: (group: CountedGroup) => object): RowParts {
  for (const part of partsOf(groups)) yield await mapYielding(part, rowOf);
}

async function* onePart(rows: object[]): RowParts {
  yield rows;
}

/** @param catalog has the links, domains, partners and other records that groups name */
export function createAnswerOf(catalog: Catalog): AnswerOf {
  const builders = rowBuilders(catalog);
  return (caller, { grouping, timeline }, groups) => {
    if (timeline !== undefined) return { rows: onePart(timeseriesOf(timeline, groups)) };
    if (grouping === 'count' || grouping === 'timeseries') return { numbers: countOf(groups) };
    if (!(grouping in GROUP_FIELDS)) return { rows: builders[grouping as EntityGrouping](caller, groups) };
    const fieldsOf = GROUP_FIELDS[grouping as EventGrouping];
    return { rows: rowsOf(groups, ({ key, numbers }) => groupRow(fieldsOf(key), numbers)) };
  };
}
