import { createInstanceRegistry, type Instance } from '@waymark/observability';
import type { Redis } from 'ioredis';

/** The running processes of the installation. One that was killed counts for ten seconds. @param redis that of queue shard 0 */
export async function runningServices(redis: Redis): Promise<readonly Instance[]> {
  const { instances } = await createInstanceRegistry(redis).read();
  return instances.flatMap(({ isAlive, instance }) => (isAlive ? [instance] : []));
}
