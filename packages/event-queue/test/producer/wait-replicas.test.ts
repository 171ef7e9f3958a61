import { rmSync } from 'node:fs';
import { aSale, startRedis, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { createEventProducer } from '../../src/index.js';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

it('without its replica a producer is not ready and acknowledges no commit; clicks go to the spool', async () => {
  const master = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  const replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${master.port}`] });
  const spoolDirectory = temporaryDirectory('waymark-wait-replicas-');
  const producer = createEventProducer({ redisUrl: master.url, waitReplicas: 1, spoolDirectory, logger: silent });
  const commit = () => producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals: [] });
  const isReady = () => producer.ping().then(() => true);
  try {
    await waitFor(isReady, { what: 'the producer to be ready' });
    await waitFor(() => commit().then(() => true), { what: 'a confirmed commit' });
    process.kill(replica.pid, 'SIGSTOP');
    await expect(producer.ping()).rejects.toThrow();
    await expect(commit()).rejects.toMatchObject({ code: 'internal_server_error' });
    const click = { claim: 'c:link:visitor', clickId: 'click', rowText: '[]' };
    expect(await producer.recordClick(click)).toMatchObject({ isNew: true });
    process.kill(replica.pid, 'SIGCONT');
    await waitFor(isReady, { what: 'the producer to be ready again' });
  } finally {
    process.kill(replica.pid, 'SIGCONT');
    await producer.close();
    await Promise.all([replica.stop(), master.stop()]);
    rmSync(spoolDirectory, { recursive: true, force: true });
  }
});
