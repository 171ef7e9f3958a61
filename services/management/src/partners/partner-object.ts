import {
  type Catalog,
  type LinkCounters,
  type LinkRecord,
  NO_LINK_COUNTERS,
  NO_PARTNER_TOTALS,
  type PartnerRecord,
  type PartnerTotals,
  shortLinkOf,
} from '@waymark/catalog';
import { BAN_REASONS, type Partner, type PartnerLink } from '@waymark/contract';

/** Maximum number of links in a partner object. */
const LINKS_SHOWN = 100;

function linkObject(link: LinkRecord, counters: LinkCounters = NO_LINK_COUNTERS): PartnerLink {
  const { id, domain, key, url } = link;
  const { clicks, leads, conversions, sales, saleAmount } = counters;
  return { id, domain, key, shortLink: shortLinkOf(domain, key), url, clicks, leads, conversions, sales, saleAmount };
}

/** The link objects of `/partners`, with their counters. */
export async function partnerLinks(
  catalog: Catalog,
  workspaceId: string,
  links: readonly LinkRecord[],
): Promise<PartnerLink[]> {
  const ids = links.map(({ id }) => id);
  const counters = await catalog.links.counters(workspaceId, ids);
  return links.map((link) => linkObject(link, counters.get(link.id)));
}

const ratio = (part: number, whole: number) => (whole === 0 ? 0 : part / whole);

/** The totals of a partner object. Commissions do not exist, so all revenue goes to the program. */
function totalsFields({ clicks, leads, conversions, sales, saleAmount }: PartnerTotals) {
  return {
    totalClicks: clicks,
    totalLeads: leads,
    totalConversions: conversions,
    totalSales: sales,
    totalSaleAmount: saleAmount,
    totalCommissions: 0,
    netRevenue: saleAmount,
    earningsPerClick: 0,
    averageLifetimeValue: ratio(saleAmount, conversions),
    clickToLeadRate: ratio(leads, clicks),
    clickToConversionRate: ratio(conversions, clicks),
    leadToConversionRate: ratio(conversions, leads),
    returnOnAdSpend: 0,
  };
}

/** The parts of a partner object that are not in its record. */
interface PartnerFacts {
  readonly programId: string;
  readonly links: PartnerLink[];
  readonly totals: PartnerTotals;
  readonly tags: { id: string; name: string }[];
}

function partnerObject(record: PartnerRecord, { programId, links, totals, tags }: PartnerFacts): Partner {
  return {
    id: record.id,
    name: record.name,
    username: record.username,
    email: record.email,
    image: record.image,
    description: record.description,
    country: record.country,
    companyName: record.companyName,
    networkStatus: record.networkStatus,
    defaultPayoutMethod: null,
    paypalEmail: null,
    stripeConnectId: null,
    payoutsEnabledAt: null,
    identityVerifiedAt: null,
    trustedAt: null,
    website: null,
    youtube: null,
    twitter: null,
    linkedin: null,
    instagram: null,
    tiktok: null,
    programId: record.programId ?? programId,
    groupId: record.groupId,
    partnerId: record.id,
    tenantId: record.tenantId,
    createdAt: record.createdAt,
    status: record.status,
    links,
    bannedAt: record.status === 'banned' ? record.bannedAt : null,
    bannedReason: BAN_REASONS.find((reason) => reason === record.bannedReason) ?? null,
    tags,
    ...totalsFields(totals),
  };
}

/** The workspace and program of the partners, and whether links in hidden folders and their totals are left out. */
export interface PartnersScope {
  readonly workspaceId: string;
  readonly programId: string;
  readonly hidesFolders: boolean;
}

/** The partner objects of a response. */
export async function partnerObjects(
  catalog: Catalog,
  { workspaceId, programId, hidesFolders }: PartnersScope,
  records: readonly PartnerRecord[],
): Promise<Partner[]> {
  const ids = records.map(({ id }) => id);
  const [totals, tags, links] = await Promise.all([
    catalog.partners.listTotals(workspaceId, ids, hidesFolders),
    catalog.partnerTags.getMany(
      workspaceId,
      records.flatMap(({ partnerTagIds }) => partnerTagIds),
    ),
    catalog.partners.linksOfMany(workspaceId, ids, LINKS_SHOWN, hidesFolders),
  ]);
  const shown = await partnerLinks(catalog, workspaceId, [...links.values()].flat());
  const byId = new Map(shown.map((link) => [link.id, link]));
  return records.map((record) =>
    partnerObject(record, {
      programId,
      links: (links.get(record.id) ?? []).flatMap(({ id }) => byId.get(id) ?? []),
      totals: totals.get(record.id) ?? NO_PARTNER_TOTALS,
      tags: record.partnerTagIds.flatMap((id) => {
        const tag = tags.get(id);
        return tag === undefined ? [] : [{ id, name: tag.name }];
      }),
    }),
  );
}
