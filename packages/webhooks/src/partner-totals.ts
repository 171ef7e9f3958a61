import type { Catalog, PartnerRecord } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId, parseResourceId, type WebhookPartner } from '@waymark/contract';

const READ_SECONDS_MAX = 10;

/** Totals of the links that partners have. */
const PARTNER_TOTALS = `
SELECT toString(link.partner_id), sum(total.clicks), sum(total.leads), sum(total.conversions), sum(total.sales),
  sum(total.sale_amount)
FROM link_totals AS total
GLOBAL INNER JOIN (
  SELECT id, partner_id FROM links FINAL
  WHERE workspace_id = {workspace:UInt64} AND partner_id IN ({partners:Array(UInt64)})
) AS link ON link.id = total.link_id
WHERE total.workspace_id = {workspace:UInt64}
GROUP BY link.partner_id`;

function webhookPartner(record: PartnerRecord, totals: readonly number[]): WebhookPartner {
  const [totalClicks = 0, totalLeads = 0, totalConversions = 0, totalSales = 0, totalSaleAmount = 0] = totals;
  return {
    id: record.id,
    name: record.name,
    email: record.email,
    image: record.image,
    payoutsEnabledAt: null,
    country: record.country,
    groupId: record.groupId,
    totalClicks,
    totalLeads,
    totalConversions,
    totalSales,
    totalSaleAmount,
    totalCommissions: 0,
  };
}

/** The partner objects of leads and sales (spec 8.1); partners that are gone are absent. */
export async function readPartners(
  { catalog, clickhouse }: { readonly catalog: Catalog; readonly clickhouse: ClickHouseClient },
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, WebhookPartner>> {
  const [records, result] = await Promise.all([
    catalog.partners.getMany(workspaceId, ids),
    clickhouse.query({
      query: PARTNER_TOTALS,
      query_params: {
        workspace: parseResourceId('workspace', workspaceId),
        partners: ids.flatMap((id) => parseResourceId('partner', id) ?? []).map(BigInt),
      },
      format: 'JSONCompactEachRow',
      clickhouse_settings: { max_execution_time: READ_SECONDS_MAX, log_comment: 'webhooks' },
    }),
  ]);
  const rows = await result.json<[string, ...(string | number)[]]>();
  const totals = new Map(rows.map(([number, ...sums]) => [formatResourceId('partner', number), sums.map(Number)]));
  return new Map(
    [...records.values()].map((record) => [record.id, webhookPartner(record, totals.get(record.id) ?? [])]),
  );
}
