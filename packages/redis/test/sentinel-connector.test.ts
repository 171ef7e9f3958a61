import { expect, it, vi } from 'vitest';
import { MasterConnector } from '../src/sentinel-connector.js';

it('the subscriptions of the last connection are ended before the next one is made', async () => {
  const cleanup = vi.fn();
  const connector = new MasterConnector({
    sentinels: [{ host: '127.0.0.1', port: 1 }],
    name: 'waymark',
    sentinelRetryStrategy: () => null,
  });
  Object.assign(connector, { failoverDetector: { cleanup } });
  const connecting = connector.connect(() => undefined);
  expect(cleanup).toHaveBeenCalledOnce();
  await expect(connecting).rejects.toThrow('unreachable');
});
