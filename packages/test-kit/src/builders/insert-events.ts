import { type ClickHouseClient, insertRows } from '@waymark/clickhouse';
import { EVENT_TABLES, type EventRow, type EventTableKind } from '@waymark/event-format';

async function insertEvents(client: ClickHouseClient, kind: EventTableKind, rows: readonly EventRow[]): Promise<void> {
  const { table, columns } = EVENT_TABLES[kind];
  await insertRows(client, { table, columns: columns[1], rows });
}

/** Inserts rows of clicks, as `aClick` builds them. */
export function insertClicks(client: ClickHouseClient, rows: readonly EventRow[]): Promise<void> {
  return insertEvents(client, 'click', rows);
}

/** Inserts rows of leads, as `aLead` builds them. */
export function insertLeads(client: ClickHouseClient, rows: readonly EventRow[]): Promise<void> {
  return insertEvents(client, 'lead', rows);
}

/** Inserts rows of sales, as `aSale` builds them. */
export function insertSales(client: ClickHouseClient, rows: readonly EventRow[]): Promise<void> {
  return insertEvents(client, 'sale', rows);
}
