import { type Link, ROOT_KEY, type Tag } from '@waymark/contract';
import type { LinkRecord } from '../model/record-schemas.js';
import { type LinkCounters, NO_LINK_COUNTERS } from '../totals/counters.js';

/** The URL of a short link; the root link has no path. */
export function shortLinkOf(domain: string, key: string): string {
  return key === ROOT_KEY ? `https://${domain}` : `https://${domain}/${key}`;
}

/** What the link object of a response contains in addition to the record. */
export interface LinkObjectParts {
  /** Origin and path prefix of the API, without a trailing slash. */
  readonly baseUrl: string;
  readonly password: string | null;
  readonly counters: LinkCounters | undefined;
  readonly tags: readonly Tag[];
}

/** Adds the counts that were imported with a link to the counters of its events. */
function withBaseline({ baseline }: LinkRecord, counters: LinkCounters = NO_LINK_COUNTERS): LinkCounters {
  if (baseline === undefined) return counters;
  return {
    clicks: counters.clicks + baseline.clicks,
    leads: counters.leads + baseline.leads,
    conversions: counters.conversions + baseline.conversions,
    sales: counters.sales + baseline.sales,
    saleAmount: counters.saleAmount + baseline.saleAmount,
    lastClicked: counters.lastClicked,
  };
}

/** Builds the link object that every response contains. */
export function linkObject(record: LinkRecord, parts: LinkObjectParts): Link {
  const shortLink = shortLinkOf(record.domain, record.key);
  const { clicks, leads, conversions, sales, saleAmount, lastClicked } = withBaseline(record, parts.counters);
  return {
    id: record.id,
    domain: record.domain,
    key: record.key,
    url: record.url,
    trackConversion: record.trackConversion,
    externalId: record.externalId,
    tenantId: record.tenantId,
    programId: record.programId,
    partnerId: record.partnerId,
    archived: record.archived,
    expiresAt: record.expiresAt,
    expiredUrl: record.expiredUrl,
    disabledAt: record.disabledAt,
    password: parts.password,
    proxy: record.proxy,
    title: record.title,
    description: record.description,
    image: record.image,
    video: record.video,
    rewrite: record.rewrite,
    doIndex: record.doIndex,
    ios: record.ios,
    android: record.android,
    geo: record.geo,
    publicStats: record.publicStats,
    tags: [...parts.tags],
    folderId: record.folderId,
    comments: record.comments,
    shortLink,
    // Not percent-encoded, because a query may contain all characters of short links. Visits with `?qr=1` count as scans of a QR code.
    qrCode: `${parts.baseUrl}/qr?url=${shortLink}?qr=1`,
    utm_source: record.utm_source,
    utm_medium: record.utm_medium,
    utm_campaign: record.utm_campaign,
    utm_term: record.utm_term,
    utm_content: record.utm_content,
    testVariants: record.testVariants?.map(({ url, percentage }) => ({ url, percentage })) ?? null,
    testStartedAt: record.testStartedAt,
    testCompletedAt: record.testCompletedAt,
    userId: record.userId,
    workspaceId: record.workspaceId,
    clicks,
    leads,
    conversions,
    sales,
    saleAmount,
    lastClicked,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    tagId: parts.tags[0]?.id ?? null,
    projectId: record.workspaceId,
    webhookIds: record.webhookIds,
  };
}
