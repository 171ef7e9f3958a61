import { createClaimAdmin } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import { aCustomerRecord, addPendingCustomer, startRedis, untilConfirming, untilReplicating } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { eraseCustomer } from '../../src/erasures/erase-customer.js';
import { aCaller, startManagement } from '../test-management.js';

it('an erasure is not accepted while no replica has what it has removed from Redis, and a repeat removes what a failover brought back', async () => {
  const [management, replica] = await Promise.all([
    startManagement(),
    startRedis({ args: ['--repl-diskless-sync-delay', '0'] }),
  ]);
  const { catalog, redis: master } = management;
  const follower = new Redis(replica.url);
  const promote = () => follower.replicaof('NO', 'ONE');
  /** The replica stops following the master just before the queued customer is removed. */
  const shard = new Proxy(master, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...parameters: unknown[]) => unknown;
      return name !== 'eval' ? bound : (...parameters: unknown[]) => promote().then(() => bound(...parameters));
    },
  });
  try {
    const { workspaceId } = await aCaller(management);
    const claims = createClaimAdmin(master);
    const erase = (on: Redis) =>
      eraseCustomer(
        { catalog, claimsOf: async () => claims, queueShards: [on], replications: [createReplication(on, 1)] },
        ...([workspaceId, 'ext_ann', 'anonymise'] as const),
      );
    await addPendingCustomer(master, aCustomerRecord({ workspaceId, externalId: 'ann', email: 'canary7p@acme.com' }));
    await follower.replicaof('127.0.0.1', String(master.options.port));
    await untilReplicating(replica.port);
    const copies = async (server: Redis) => {
      const hashes = await server.keys('*pending*');
      return (await Promise.all(hashes.map((key) => server.hvals(key))))
        .flat()
        .filter((value) => /canary7p/.test(value));
    };
    expect(await copies(follower)).toHaveLength(1);

    await expect(erase(shard)).rejects.toMatchObject({ code: 'internal_server_error', retryAfterSeconds: 1 });

    // The end of the failover: the old master follows the new one, and takes its place again.
    await master.replicaof('127.0.0.1', String(replica.port));
    await untilReplicating(Number(master.options.port));
    await master.replicaof('NO', 'ONE');
    await follower.replicaof('127.0.0.1', String(master.options.port));
    await untilReplicating(replica.port);
    expect(await copies(master)).toHaveLength(1);
    await untilConfirming(master);
    await erase(master);
    expect([await copies(master), await copies(follower)]).toEqual([[], []]);
  } finally {
    follower.disconnect();
    await Promise.all([management.close(), replica.stop()]);
  }
}, 120_000);
