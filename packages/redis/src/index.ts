export { connectRedis, keyPrefix } from './connect.js';
export { deleteIfEqual } from './delete-if-equal.js';
export { LEASE_MS, takeLease } from './lease.js';
export { checkWritable } from './probe-write.js';
export { parseRedisAddress, redisSocketUrl } from './redis-address.js';
export { forEachReplica } from './replicas.js';
export { createReplication, NotReplicatedError, type Replication } from './replication.js';
