export { dateTimeText } from '@waymark/event-query';
export { type ClickHouseAddress, parseClickHouseAddress } from './clickhouse-address.js';
export { type ClickHouseClient, type ClickHouseOptions, createClickHouseClient } from './client.js';
export {
  countUnerased,
  type ErasureProgress,
  type ErasureTarget,
  erasureProgress,
  startErasure,
} from './erasure/mutations.js';
export type { ErasedClick, ErasedCustomer, ErasureBatch } from './erasure/people.js';
export { countEvents, sharedClicks } from './erasure/reads.js';
export { subtractErased } from './erasure/subtract.js';
export { isInfrastructureError } from './infrastructure-error.js';
export {
  type MigrateOptions,
  type MigrationReport,
  type MigrationStatus,
  migrate,
  migrationStatus,
} from './migrations/migrate.js';
export { type MoveEndpoint, MoveEndpointError } from './move/endpoints.js';
export { type MoveOptions, type MoveProgress, type MoveReport, moveDatabase } from './move/move.js';
export { MoveRefusedError } from './move/preconditions.js';
export { DURATION_BOUNDS_MS, OPS_TABLES, type OpsTable } from './ops-tables.js';
export { applyQueryLogView } from './query-log-view.js';
export {
  countExpired,
  deleteExpired,
  type ExpiredRows,
  type WorkspaceRetention,
} from './retention/expired-rows.js';
export { applyRetention, EVENT_EXPIRY_QUERY, type Retention, type RetentionOptions } from './retention/retention.js';
export { insertLines, type LineInsertion } from './rows/insert-lines.js';
export { type Insertion, insertRows } from './rows/insert-rows.js';
export { DIGEST_BYTES, type KeysRead, keyDigest, readKeyDigests } from './rows/key-digests.js';
export { EVENT_QUORUM_INSERT, QUORUM_INSERT, SEQUENTIAL_READ } from './rows/replicated.js';
export {
  type QueryCaller,
  type QueryReport,
  type RunQueryOptions,
  runCompiledQuery,
  runLargeQuery,
} from './run-query.js';
export { addServers } from './shards/add-servers.js';
export { applyPlacement } from './shards/apply-placement.js';
export {
  type CompleteReplicas,
  findCompleteReplicas,
  findOnReplicas,
  MissingRowsError,
  type ReplicaRead,
  type ReplicaRows,
  type ReplicaRowsRead,
  readEveryReplica,
  readReplicaRows,
} from './shards/every-replica.js';
export { listShards, type ShardList } from './shards/list-shards.js';
export { moveShard, ShardMoveError, type ShardMoveOptions, type ShardMoveReport } from './shards/move-shard.js';
export { LOGICAL_SHARDS } from './shards/placement.js';
export { countShards } from './shards/placement-store.js';
export { createRowGroups, type RowGroup, type RowGroups } from './shards/row-groups.js';
export { UnknownOutcomeError } from './unknown-outcome-error.js';
