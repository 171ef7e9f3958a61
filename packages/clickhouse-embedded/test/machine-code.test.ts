import { createClickHouseClient } from '@waymark/clickhouse';
import { startClickHouse } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';

// On a server of its own: mutations, which run in the background without the settings of statements, do compile, and its events count them.
test('no statement compiles its expressions to machine code, which would take longer than it saves', async () => {
  const server = await startClickHouse();
  const client = createClickHouseClient({ url: server.url, database: 'default' });
  onTestFinished(async () => {
    await client.close();
    await server.stop();
  });
  const query = 'SELECT number * 2 + 7 AS sum FROM numbers(3) WHERE sum % 5 > 1';
  for (let times = 0; times < 5; times++) await client.rows({ query });
  const compiled = "SELECT sum(value) FROM system.events WHERE event LIKE 'Compile%'";
  expect(await client.rows({ query: compiled })).toEqual([['0']]);
});
