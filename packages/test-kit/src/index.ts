export { aClick, aLead, aSale } from './builders/event-builders.js';
export { insertClicks, insertLeads, insertSales } from './builders/insert-events.js';
export { addPendingCustomer, writePendingCustomer } from './builders/pending-customers.js';
export {
  aCustomerRecord,
  aDomainRecord,
  aLinkRecord,
  anApiKeyRecord,
  aWorkspaceRecord,
  BUILDER_WORKSPACE_ID,
} from './builders/records.js';
export { bundleProcess } from './bundle-process.js';
export { endingOf, endProcess } from './child-process.js';
export { dropOtherTables } from './clickhouse-cluster/drop-other-tables.js';
export { startTestCluster, type TestCluster } from './clickhouse-cluster/start-cluster.js';
export {
  type ReplicaState,
  setReplicaState,
  startTestReplicas,
  type TestReplicas,
} from './clickhouse-cluster/test-replicas.js';
export { type EngineSession, startEngineAs } from './engine-users/start-engine-as.js';
export type { EngineUser } from './engine-users/users-xml.js';
export { type EventStreamClient, openEventStream } from './event-stream.js';
export { type ForkedService, forkService, storeSettings, TEST_INSTANCE_KEY } from './fork-service.js';
export { freePort } from './free-port.js';
export { elapsedMs, leastOf } from './least-of.js';
export { findQueueLimits } from './queue-limits.js';
export { removeOldPartsAtOnce } from './remove-old-parts.js';
export { rounds } from './run/rounds.js';
export { runAsStranger, strangerCannotRun } from './run-as-stranger.js';
export { BUCKET, type S3Server, startS3Server } from './s3/s3-server.js';
export { type StopAt, type StoppingClient, stoppingClient } from './stopping-client.js';
export { startClickHouse, type TestClickHouse } from './stores/clickhouse.js';
export { makeMigratedStore, startMigratedClickHouse } from './stores/migrated-store.js';
export { startRedis, type TestRedisOptions } from './stores/redis.js';
export { startRedisCluster } from './stores/redis-cluster.js';
export { type RedisDeployment, untilConfirming, untilReplicating } from './stores/redis-deployment.js';
export { launchRedis } from './stores/redis-process.js';
export { startRedisSentinels } from './stores/redis-sentinels.js';
export { temporaryDirectory } from './stores/temporary-directory.js';
export { createTestDatabase, type TestDatabase } from './stores/test-database.js';
export type { TestRedis } from './stores/test-server.js';
export { type CatalogAt, startStores, type TestStores } from './stores/test-stores.js';
export { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
export { waitFor } from './wait-for.js';
