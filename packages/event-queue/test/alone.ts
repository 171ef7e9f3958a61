import { createReplication, type Replication } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { createInsertsElsewhere } from '../src/queue/inserts-elsewhere.js';
import { createManifest, type Manifest } from '../src/writer/manifest.js';

/** The replication of a Redis without replicas. */
export function alone(redis: Redis): Replication {
  return createReplication(redis, 0);
}

/** The manifest in the only Redis of an installation. */
export function soleManifest(redis: Redis): Manifest {
  return createManifest(redis, alone(redis), createInsertsElsewhere([], Date.now));
}
