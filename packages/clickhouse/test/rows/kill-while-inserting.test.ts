import { startMigratedClickHouse, type TestClickHouse, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClickHouseClient, createClickHouseClient } from '../../src/index.js';
import { aGroup, counts, everywhere, insertUntilDone, ROWS_PER_GROUP } from './event-groups.js';

const KILLS = 5;

let server: TestClickHouse;
let client: ClickHouseClient;
beforeAll(async () => {
  server = await startMigratedClickHouse();
  client = createClickHouseClient({ url: server.url, database: 'waymark', requestTimeoutMs: 5_000 });
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

test('inserts repeated with their tokens after kill -9 are stored once, in the table and in every view', {
  timeout: 180_000,
}, async () => {
  let acknowledged = 0;
  let isOver = false;
  const work = async (worker: number) => {
    let number = 0;
    while (!isOver) {
      await insertUntilDone(client, aGroup('1', worker * 1_000_000 + number++));
      acknowledged += ROWS_PER_GROUP;
    }
  };
  const workers = [1, 2, 3, 4].map(work);
  for (let kill = 0; kill < KILLS; kill++) {
    const before = acknowledged;
    await waitFor(() => acknowledged > before + 8 * ROWS_PER_GROUP, { what: 'eight inserts' });
    await server.kill9();
    await server.restart();
  }
  isOver = true;
  await Promise.all(workers);
  expect(await counts(client, '1')).toEqual(everywhere(acknowledged));
});
