export { ClickHouseError } from '@clickhouse/client';
export { dateTimeText } from '@waymark/event-query';
export { type ClickHouseAddress, parseClickHouseAddress } from './clickhouse-address.js';
export { type ClickHouseClient, createClickHouseClient } from './client.js';
export {
  countUnerased,
  erasureProgress,
  type PreparedErasure,
  prepareErasure,
  startErasure,
} from './erasure/mutations.js';
export type { ErasedClick, ErasureBatch } from './erasure/people.js';
export { countEvents, sharedClicks } from './erasure/reads.js';
export { prepareSubtraction } from './erasure/subtract.js';
export {
  isBeyondLimits,
  isInfrastructureError,
  isRefusedForNow,
  isResultTooLarge,
  isTooLarge,
  refusalCode,
} from './infrastructure-error.js';
export { applySchema } from './migrations/apply-schema.js';
export {
  migrate,
  migrationStatus,
} from './migrations/migrate.js';
export { type MoveEndpoint, MoveEndpointError } from './move/endpoints.js';
export { type MoveOptions, type MoveProgress, type MoveReport, moveDatabase } from './move/move.js';
export { MoveRefusedError } from './move/preconditions.js';
export { DURATION_BOUNDS_MS, OPS_TABLES, type OpsTable } from './ops-tables.js';
export { applyQueryLogView } from './query-log-view.js';
export { quoteIdentifier } from './quote-identifier.js';
export {
  countExpired,
  type DeletionReport,
  deleteExpired,
  type ExpiredCounts,
  type WorkspaceRetention,
} from './retention/expired-rows.js';
export { applyRetention, EVENT_EXPIRY_QUERY } from './retention/retention.js';
export { insertLines } from './rows/insert-lines.js';
export { insertRows } from './rows/insert-rows.js';
export { DIGEST_BYTES, keyDigest, readKeyDigests } from './rows/key-digests.js';
export { EVENT_QUORUM_INSERT, isQuorumBusy, QUORUM_INSERT, SEQUENTIAL_READ } from './rows/replicated.js';
export { clickParameters, clickRowOf, clickSelection, STORED_CLICKS } from './rows/stored-clicks.js';
export {
  type QueryCaller,
  type QueryReport,
  runCompiledQuery,
  runLargeQuery,
} from './run-query.js';
export { addServers } from './shards/add-servers.js';
export { applyPlacement, isPlacementApplied } from './shards/apply-placement.js';
export { betweenMoves } from './shards/between-moves.js';
export {
  type CompleteReplicas,
  findCompleteReplicas,
  findOnReplicas,
  MissingRowsError,
  type ReplicaRows,
  type ReplicaRowsRead,
  readEveryReplica,
  readReplicaRows,
} from './shards/every-replica.js';
export { listShards, type ShardList } from './shards/list-shards.js';
export { moveShard, ShardMoveError, type ShardMoveReport, ShardThereError } from './shards/move-shard.js';
export { LOGICAL_SHARDS } from './shards/placement.js';
export { countShards } from './shards/placement-store.js';
export { removeDeletedRows } from './shards/remove-deleted-rows.js';
export { createRowGroups } from './shards/row-groups.js';
export type { RunningMutation } from './shards/wait-for-nodes.js';
export { UnknownOutcomeError } from './unknown-outcome-error.js';
