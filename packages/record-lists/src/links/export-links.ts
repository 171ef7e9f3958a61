import { type KeyCaller, type LinkRecord, linkVisibility } from '@waymark/catalog';
import type { ExportLinksQuery, Link, LinkColumn } from '@waymark/contract';
import type { Column, ColumnType, ExportSource } from '@waymark/export';
import { type ExportPart, slicesOfRecords } from '../export-part.js';
import { type LinkListDeps, linkCursorOf, linkFiltersOf } from './link-query.js';

function column(type: ColumnType, read: (link: Link) => unknown): Column<Link> {
  return { type, read };
}
const field = (name: keyof Link, type: ColumnType = 'text') => column(type, (link) => link[name]);

/** For each column of an exported file of links, how its value is read from an object of `GET /links`. */
export const LINK_COLUMN_SOURCES: Readonly<Record<LinkColumn, Column<Link>>> = {
  link: field('shortLink'),
  url: field('url'),
  clicks: field('clicks', 'integer'),
  createdAt: field('createdAt', 'time'),
  leads: field('leads', 'integer'),
  conversions: field('conversions', 'integer'),
  saleAmount: field('saleAmount', 'integer'),
  id: field('id'),
  updatedAt: field('updatedAt', 'time'),
  tags: column('texts', ({ tags }) => tags.map(({ name }) => name)),
  archived: field('archived', 'flag'),
  domain: field('domain'),
  key: field('key'),
  externalId: field('externalId'),
  tenantId: field('tenantId'),
  programId: field('programId'),
  partnerId: field('partnerId'),
  folderId: field('folderId'),
  userId: field('userId'),
  title: field('title'),
  description: field('description'),
  image: field('image'),
  comments: field('comments'),
  sales: field('sales', 'integer'),
  lastClicked: field('lastClicked', 'time'),
  expiresAt: field('expiresAt', 'time'),
  expiredUrl: field('expiredUrl'),
  ios: field('ios'),
  android: field('android'),
  trackConversion: field('trackConversion', 'flag'),
  utm_source: field('utm_source'),
  utm_medium: field('utm_medium'),
  utm_campaign: field('utm_campaign'),
  utm_term: field('utm_term'),
  utm_content: field('utm_content'),
};

/**
 * Reads the links of `GET /links/export` and of export jobs, by time of creation: newest first, unless `sortOrder` is `asc`.
 *
 * @throws ApiError 404 for an unknown domain or folder, 403 for one without access, 422 for an invalid cursor
 */
export async function exportLinks(
  deps: LinkListDeps,
  caller: KeyCaller,
  query: ExportLinksQuery,
  part: ExportPart = {},
): Promise<ExportSource> {
  const { links } = deps.catalog;
  const workspaceId = caller.workspace.id;
  const cursor = await linkCursorOf(deps, caller, query);
  const filters = await linkFiltersOf(deps, caller, query);
  const order = query.sortOrder ?? 'desc';

  return slicesOfRecords<LinkRecord>(
    {
      kind: 'link',
      startId: cursor?.id,
      readFirst: (limit) =>
        links.list(workspaceId, { filters, sortBy: 'createdAt', sortOrder: order, limit, offset: 0 }),
      readAfter: (id, limit) => links.listFrom(workspaceId, filters, { order, limit, id, side: 'after' }),
      objectsOf: (records) => links.objects(workspaceId, records, linkVisibility(caller.apiKey)),
    },
    part,
  );
}
