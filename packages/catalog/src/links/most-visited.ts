import type { ClickHouseClient } from '@waymark/clickhouse';
import { formatResourceId } from '@waymark/contract';
import { queryRows } from '../clickhouse/query-rows.js';

/** The public ids of a link and its workspace. */
export interface VisitedLink {
  readonly workspaceId: string;
  readonly id: string;
}

/** Rows that are read for each requested link: until ClickHouse merges parts, a link has several rows in `link_totals`. */
const ROWS_PER_LINK = 4;

/**
 * The links of all workspaces with clicks since `since`, most clicks first; some may be removed. The order is approximate: rows of a link
 * that are not merged yet are not added up, because that would need memory for every link of the installation.
 */
export async function mostVisitedLinks(
  clickhouse: ClickHouseClient,
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<VisitedLink[]> {
  const rows = await queryRows<[string, string]>(clickhouse, {
    query: `SELECT workspace_id, link_id FROM link_totals
WHERE last_clicked >= fromUnixTimestamp64Milli({since:Int64}) ORDER BY clicks DESC LIMIT {limit:UInt32}`,
    parameters: { since: BigInt(since.getTime()), limit: limit * ROWS_PER_LINK },
  });
  const links = new Map(
    rows.map(([workspace, link]) => [
      `${workspace}/${link}`,
      { workspaceId: formatResourceId('workspace', workspace), id: formatResourceId('link', link) },
    ]),
  );
  return [...links.values()].slice(0, limit);
}
