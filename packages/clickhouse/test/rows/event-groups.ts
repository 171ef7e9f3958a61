import { randomUUID } from 'node:crypto';
import { EVENT_TABLES, type EventRow } from '@waymark/event-format';
import { aClick, waitFor } from '@waymark/test-kit';
import { type ClickHouseClient, insertRows, isInfrastructureError } from '../../src/index.js';

export const ROWS_PER_GROUP = 50;
const YEAR_MS = 365 * 24 * 3600 * 1000;

export interface Group {
  readonly token: string;
  readonly rows: readonly EventRow[];
}

/** An insert batch as the writer creates it: rows of three years under one token. */
export function aGroup(workspaceId: string, number: number): Group {
  const rows = Array.from({ length: ROWS_PER_GROUP }, (_, index) =>
    aClick({
      workspaceId,
      linkId: String(1 + (index % 7)),
      timestampMs: Date.UTC(2024, 5, 1) + (index % 3) * YEAR_MS + number,
    }),
  );
  return { token: randomUUID(), rows };
}

/** Inserts with retries of temporary errors, as the writer does. */
export async function insertUntilDone(client: ClickHouseClient, { token, rows }: Group): Promise<void> {
  await waitFor(
    async () => {
      try {
        await insertRows(client, {
          table: 'click_events',
          columns: EVENT_TABLES.click.columns[1],
          rows,
          deduplicationToken: token,
        });
        return true;
      } catch (err) {
        if (!isInfrastructureError(err)) throw err;
        return false;
      }
    },
    { what: 'an insert to be acknowledged' },
  );
}

/** Counts the rows of a workspace in the table of clicks and in each of its views. */
export async function counts(client: ClickHouseClient, workspaceId: string): Promise<unknown> {
  const result = await client.query({
    query: `SELECT
      (SELECT count() FROM click_events WHERE workspace_id = {workspaceId:UInt64}) AS base,
      (SELECT uniqExact(click_id) FROM click_events WHERE workspace_id = {workspaceId:UInt64}) AS ids,
      (SELECT sum(clicks) FROM link_totals WHERE workspace_id = {workspaceId:UInt64}) AS totals,
      (SELECT sum(clicks) FROM workspace_slots WHERE workspace_id = {workspaceId:UInt64}) AS slots,
      (SELECT sum(clicks) FROM link_days WHERE workspace_id = {workspaceId:UInt64}) AS days`,
    query_params: { workspaceId },
    format: 'JSONEachRow',
  });
  const [row] = await result.json();
  return row;
}

/** The expected result of `counts` if all `rows` are in the table and the views once. */
export function everywhere(rows: number) {
  const text = String(rows);
  return { base: text, ids: text, totals: text, slots: text, days: text };
}
