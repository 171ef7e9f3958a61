import { expect, it, vi } from 'vitest';
import { MasterConnector } from '../src/sentinel-connector.js';

interface Detecting {
  failoverDetector: { cleanup(): void } | null;
  initFailoverDetector(): Promise<void>;
}

it('a connection that is closed while it is being opened subscribes to no Sentinel, so that its process can end', async () => {
  const connector = new MasterConnector({
    ...{ sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'waymark', role: 'master' },
    ...{ failoverDetector: true, sentinelMaxConnections: 1, sentinelReconnectStrategy: () => null },
  });
  const detecting = connector as unknown as Detecting;
  Object.assign(connector, { connecting: true });
  await detecting.initFailoverDetector();
  expect(detecting.failoverDetector).not.toBeNull();
  detecting.failoverDetector?.cleanup();
  detecting.failoverDetector = null;
  connector.disconnect();
  await detecting.initFailoverDetector();
  expect(detecting.failoverDetector).toBeNull();
});

it('the subscriptions of the previous connection are ended before the next one is opened', async () => {
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
