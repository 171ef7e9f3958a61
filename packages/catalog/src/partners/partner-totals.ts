import { formatResourceId, parseResourceId } from '@waymark/contract';
import type { ReadList } from '../clickhouse/list-reads.js';
import { IN_NO_HIDDEN_FOLDER } from '../links/caller-visibility.js';
import { BY_CREATION, type SortRule } from '../lists/record-list.js';
import { numberOf } from '../model/entity-type.js';

/** The sums of the counters of a partner's links. */
export interface PartnerTotals {
  readonly clicks: number;
  readonly leads: number;
  readonly conversions: number;
  readonly sales: number;
  /** Cents of USD. */
  readonly saleAmount: number;
}

export const NO_PARTNER_TOTALS: PartnerTotals = { clicks: 0, leads: 0, conversions: 0, sales: 0, saleAmount: 0 };

/** SQL for the totals of each partner over the links that meet a condition. Partners without events are absent. */
const totalsOf = (links: string) => `SELECT partner_id AS id, sum(clicks) AS clicks, sum(leads) AS leads,
  sum(conversions) AS conversions, sum(sales) AS sales, sum(sale_amount) AS sale_amount
FROM link_totals AS total
GLOBAL INNER JOIN (
  SELECT id AS link_id, partner_id FROM links FINAL WHERE workspace_id = {workspace:UInt64} AND ${links}
) AS link USING (link_id)
WHERE total.workspace_id = {workspace:UInt64} GROUP BY partner_id`;

const totalsJoin = (links: string) => `GLOBAL LEFT JOIN (${totalsOf(links)}) AS totals USING (id)`;

const rate = (part: string, whole: string) => `if(${whole} = 0, 0, ${part} / ${whole})`;

/** The expression of each order by a total. There are no commissions, so net revenue is the sale amount. */
const TOTAL_SORTS = {
  totalClicks: 'clicks',
  totalLeads: 'leads',
  totalConversions: 'conversions',
  totalSales: 'sales',
  totalSaleAmount: 'sale_amount',
  netRevenue: 'sale_amount',
  averageLifetimeValue: rate('sale_amount', 'conversions'),
  clickToLeadRate: rate('leads', 'clicks'),
  clickToConversionRate: rate('conversions', 'clicks'),
  leadToConversionRate: rate('conversions', 'leads'),
} as const;

/** Orders by values that are 0 for all partners, because there are no commissions: they sort by creation. */
const WITHOUT_COMMISSIONS = ['totalCommissions', 'earningsPerClick', 'returnOnAdSpend'] as const;

/** The orders of lists of partners. */
export type PartnerSort = 'createdAt' | keyof typeof TOTAL_SORTS | (typeof WITHOUT_COMMISSIONS)[number];

/** @param links SQL condition on the links to count */
const sortsBy = (links: string) =>
  ({
    createdAt: BY_CREATION,
    ...Object.fromEntries(WITHOUT_COMMISSIONS.map((sort) => [sort, BY_CREATION])),
    ...Object.fromEntries(Object.entries(TOTAL_SORTS).map(([sort, by]) => [sort, { by, join: totalsJoin(links) }])),
  }) as Readonly<Record<PartnerSort, SortRule>>;

/** For callers who may see all folders. */
export const PARTNER_SORTS = sortsBy('partner_id != 0');

/** For callers who may not see all folders: links in hidden folders are not counted. */
export const VISIBLE_PARTNER_SORTS = sortsBy(`partner_id != 0 AND ${IN_NO_HIDDEN_FOLDER.sql}`);

/**
 * Reads the totals of partners. Partners without events are absent.
 *
 * @param hidesFolders whether links in hidden folders are not counted
 */
export async function readPartnerTotals(
  read: ReadList,
  settings: Readonly<Record<string, number>>,
  workspaceId: string,
  ids: readonly string[],
  hidesFolders: boolean,
): Promise<Map<string, PartnerTotals>> {
  const partners = ids.flatMap((id) => parseResourceId('partner', id) ?? []).map(BigInt);
  if (partners.length === 0) return new Map();
  const ofPartners = 'partner_id IN ({partners:Array(UInt64)})';
  const rows = await read<[string, ...(string | number)[]]>({
    query: totalsOf(hidesFolders ? `${ofPartners} AND ${IN_NO_HIDDEN_FOLDER.sql}` : ofPartners),
    parameters: { workspace: numberOf('workspace', workspaceId), partners },
    settings,
  });
  return new Map(
    rows.map(([number, ...sums]) => {
      const [clicks = 0, leads = 0, conversions = 0, sales = 0, saleAmount = 0] = sums.map(Number);
      return [formatResourceId('partner', number), { clicks, leads, conversions, sales, saleAmount }];
    }),
  );
}
