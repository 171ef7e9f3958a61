import { insertRows, OPS_TABLES } from '@waymark/clickhouse';
import { amountText } from '@waymark/ops-page';
import { createTestDatabase } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { createPanelReader } from '../src/ops/panel-reader.js';

it('the growth of a table is counted from its first measurement in the range, also at the beginning of an hour', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  // Twenty seconds after a full hour, in which nothing was measured yet.
  const nowMs = Math.floor(Date.now() / 3_600_000) * 3_600_000 + 20_000;
  const minutesAgo = (minutes: number) => nowMs - minutes * 60_000;
  const sample = (minutes: number, table: string, bytes: number) =>
    [minutesAgo(minutes), 'writer', 'host:1', `table_bytes:${table}`, bytes] as const;
  const [[bytes] = ['0']] = await database.client.rows<[string]>({
    query: `SELECT toString(bytes) FROM ops_parts WHERE database = currentDatabase() AND table = 'schema_migrations'`,
  });
  const before = Math.floor(Number(bytes) / 2);
  await insertRows(database.client, {
    table: 'ops_samples',
    columns: OPS_TABLES.ops_samples,
    rows: [
      ...[
        sample(90, 'schema_migrations', 0),
        sample(50, 'schema_migrations', before),
        sample(1, 'schema_migrations', 7),
      ],
      sample(300, 'ops_samples', 1),
    ],
  });
  const logger = { warn: (context: object, message: string) => expect.fail(`${message}: ${JSON.stringify(context)}`) };
  const reader = createPanelReader({ clickhouse: database.client, logger, now: () => nowMs });
  const growthOf = async (id: '1h' | '6h') => {
    const { tables } = await reader.read({ id, label: id, seconds: Number(id[0]) * 3600, step: 15 }, false);
    const rows = (tables.tables ?? '')
      .split('<tr>')
      .map((row) => row.split(/<\/t[dh]>/).map((cell) => cell.replace(/<[^>]*>/g, '')));
    return Object.fromEntries(rows.map(([table = '', , , , growth = '']) => [table, growth]));
  };
  expect(before).toBeGreaterThan(1000);
  const hour = await growthOf('1h');
  expect(hour.schema_migrations).toBe(amountText(Number(bytes) - before, 'bytes'));
  expect(hour.ops_samples).toBe('&ndash;');
  expect((await growthOf('6h')).ops_samples).toMatch(/B$/);
});
