import type { ClickHouseClient } from '@waymark/clickhouse';
import { numberOf } from '../model/entity-type.js';
import { queryRows } from './query-rows.js';

const TABLES = { link: 'links', customer: 'customers' } as const;

/**
 * Whether the workspace has, or ever had, a record with that id. Cursors are checked with it, because they stay valid when their record is
 * removed.
 *
 * @param id a valid public id of that kind
 */
export async function everExisted(
  clickhouse: ClickHouseClient,
  settings: Readonly<Record<string, number>>,
  kind: keyof typeof TABLES,
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const rows = await queryRows<[number]>(clickhouse, {
    query: `SELECT 1 FROM ${TABLES[kind]} WHERE workspace_id = {workspace:UInt64} AND id = {id:UInt64} LIMIT 1`,
    parameters: { workspace: numberOf('workspace', workspaceId), id: BigInt(numberOf(kind, id)) },
    settings,
  });
  return rows.length > 0;
}
