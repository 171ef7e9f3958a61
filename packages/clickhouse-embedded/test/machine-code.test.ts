import { createTestDatabase } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';

test('no statement compiles its expressions to machine code, which would take longer than it saves', async () => {
  const { client, drop } = await createTestDatabase();
  onTestFinished(drop);
  const query = 'SELECT number * 2 + 7 AS sum FROM numbers(3) WHERE sum % 5 > 1';
  for (let times = 0; times < 5; times++) await client.rows({ query });
  const compiled = "SELECT sum(value) FROM system.events WHERE event LIKE 'Compile%'";
  expect(await client.rows({ query: compiled })).toEqual([['0']]);
});
