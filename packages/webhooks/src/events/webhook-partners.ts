import { type Catalog, NO_PARTNER_TOTALS } from '@waymark/catalog';
import type { WebhookPartner } from '@waymark/contract';

/** The partner objects for lead and sale events, by id; those that do not exist are left out. There are no payouts: their fields are constant. */
export async function readPartners(
  { partners }: Pick<Catalog, 'partners'>,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, WebhookPartner>> {
  if (ids.length === 0) return new Map();
  const [records, totals] = await Promise.all([partners.getMany(workspaceId, ids), partners.totals(workspaceId, ids)]);
  return new Map(
    [...records.values()].map(({ id, name, email, image, country, groupId }) => {
      const { clicks, leads, conversions, sales, saleAmount } = totals.get(id) ?? NO_PARTNER_TOTALS;
      const partner: WebhookPartner = {
        id,
        name,
        email,
        image,
        payoutsEnabledAt: null,
        country,
        groupId,
        totalClicks: clicks,
        totalLeads: leads,
        totalConversions: conversions,
        totalSales: sales,
        totalSaleAmount: saleAmount,
        totalCommissions: 0,
      };
      return [id, partner];
    }),
  );
}
