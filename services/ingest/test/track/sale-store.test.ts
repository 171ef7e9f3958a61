import { createClickHouseClient } from '@waymark/clickhouse';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { createSaleStore } from '../../src/track/conversions/sale-store.js';

const clickhouse = createClickHouseClient({ url: 'http://127.0.0.1:9', database: 'none' });
afterAll(() => clickhouse.close());

const WORKSPACE = 'ws_00000000001';
let fail: (err: Error) => void;
beforeEach(() => {
  // Statements of a ClickHouse that accepts connections and does not answer.
  const hanging = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  hanging.catch(() => undefined);
  vi.spyOn(clickhouse, 'rows').mockReturnValue(hanging);
});

it.each([
  ['an invoice', (store: ReturnType<typeof createSaleStore>) => store.findByInvoice(WORKSPACE, 'INV-1')],
  [
    'the sales of a customer',
    (store: ReturnType<typeof createSaleStore>) => store.hasSale(WORKSPACE, 'cus_00000000001', 'link_00000000001'),
  ],
])('the look-up of %s is answered 500 with Retry-After at the deadline while ClickHouse hangs', async (_what, look) => {
  try {
    await expect(look(createSaleStore(clickhouse, 50))).rejects.toMatchObject({
      ...{ code: 'internal_server_error', retryAfterSeconds: 1 },
      context: { what: 'look-up of sales took too long' },
    });
  } finally {
    fail(new Error('the test is over'));
    vi.restoreAllMocks();
  }
});
