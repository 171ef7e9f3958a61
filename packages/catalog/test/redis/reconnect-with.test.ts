import { once } from 'node:events';
import { connectRedis } from '@waymark/redis';
import { startRedisSentinels, startTcpProxy, waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { reconnectWith } from '../../src/redis/reconnect-with.js';

it('a follower that waits for its Sentinel still connects after the leader has closed', async () => {
  const deployment = await startRedisSentinels({ replicas: 0 });
  onTestFinished(() => deployment.stop());
  const proxy = await startTcpProxy(Number(new URL(deployment.url.split(',')[0] ?? '').port));
  onTestFinished(() => proxy.stop());
  const leader = connectRedis(deployment.url, {});
  onTestFinished(() => leader.disconnect());
  await once(leader, 'ready');

  proxy.holdAnswers();
  const follower = connectRedis(`redis+sentinel://127.0.0.1:${proxy.port}/waymark`, {});
  onTestFinished(() => follower.disconnect());
  await waitFor(() => proxy.requestBytes() > 0, { what: 'the question for the master' });
  expect(follower.status).toBe('connecting');
  reconnectWith(leader, follower);
  let connections = 0;
  follower.on('connect', () => {
    connections += 1;
  });
  leader.disconnect(true);
  await once(leader, 'close');
  proxy.pass();
  await once(follower, 'ready');
  // The first one was begun before the other connection closed, so it may have been to the server that this one has left.
  expect(connections).toBe(2);
});
