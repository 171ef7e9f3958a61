import { createClickHouseClient } from '@waymark/clickhouse';
import { expect, onTestFinished, test } from 'vitest';
import { personFile } from '../../src/customers/data/person-file.js';

test('the file of a person does not begin before ClickHouse has answered', async () => {
  const clickhouse = createClickHouseClient({ url: 'http://127.0.0.1:1', database: 'waymark' });
  onTestFinished(() => clickhouse.close());
  const person = { clickhouse, workspace: '1', customer: '1', customerId: 'cus_1', firstClickId: null, caller: {} };
  const totals = { clicks: 0, leads: 0, sales: 0, saleAmount: 0 };
  await expect(personFile(person as never, undefined, totals as never).next()).rejects.toThrow();
});
