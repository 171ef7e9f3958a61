import { expect, test } from 'vitest';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  insertClicks,
  insertLeads,
  insertSales,
  startRedis,
} from '../src/index.js';

test('built events of every kind can be inserted and are counted by the views', async () => {
  const { client, drop } = await createTestDatabase();
  await insertClicks(client, [aClick(), aClick({ linkId: '5' })]);
  await insertLeads(client, [aLead()]);
  await insertSales(client, [aSale({ amount: 1200 })]);
  const result = await client.query({
    query:
      'SELECT sum(clicks) AS clicks, sum(leads) AS leads, sum(sales) AS sales, sum(sale_amount) AS amount FROM link_totals',
    format: 'JSONEachRow',
  });
  expect(await result.json()).toEqual([{ clicks: '2', leads: '1', sales: '1', amount: '1200' }]);
  await drop();
});

test('a Redis of a test keeps its data and its port over a kill -9', async () => {
  const redis = await startRedis();
  const before = redis.pid;
  await redis.kill9();
  await redis.restart();
  expect(redis.pid).not.toBe(before);
  await redis.stop();
});
