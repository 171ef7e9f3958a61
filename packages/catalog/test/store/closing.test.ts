import { setImmediate } from 'node:timers/promises';
import { startStores } from '@waymark/test-kit';
import { expect, it } from 'vitest';

it('a catalog that is closed at any stage of connecting logs no warning', { timeout: 60_000 }, async () => {
  const stores = await startStores();
  try {
    for (let turns = 0; turns < 60; turns++) {
      const catalog = stores.catalog();
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      // Also closes during a read from Redis.
      const looking = catalog.links.findByAddress('go.example.com', `${turns}`);
      await Promise.all([catalog.close(), looking]);
      await stores.client.ping();
    }
    expect(stores.warnings).toEqual([]);
  } finally {
    await stores.close();
  }
});
