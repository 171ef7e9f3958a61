import { type CustomerRecord, customerRow } from '@waymark/catalog';
import { type ClickHouseClient, insertRows } from '@waymark/clickhouse';
import { customerNameRow, NAMES_TABLE, QUEUE_TABLES } from '@waymark/event-format';
import { pendingCustomer } from '@waymark/event-queue';
import type { Redis } from 'ioredis';

/** Makes a customer pending, as the commit of an event does. */
export async function addPendingCustomer(redis: Redis, record: CustomerRecord): Promise<void> {
  for (const { key, field = '', value } of pendingCustomer(customerRow(record, 1))) await redis.hset(key, field, value);
}

/** Inserts the rows of a customer as the writer does, but leaves it pending. */
export async function writePendingCustomer(client: ClickHouseClient, record: CustomerRecord): Promise<void> {
  const { table, columns } = QUEUE_TABLES.customer;
  const row = customerRow(record, 1);
  await insertRows(client, { table, columns: columns[1], rows: [row] });
  await insertRows(client, { ...NAMES_TABLE, rows: [customerNameRow(row)] });
}
