export { type ClaimAdmin, createClaimAdmin } from './claims/claim-admin.js';
export * from './claims/claim-names.js';
export { type ClaimState, PENDING_TTL_MS } from './claims/claim-value.js';
export { ClaimHeldError, type Claims } from './claims/claims.js';
export { FILTERS_BLOCKED_MS, type FilterMark } from './claims/filter-marks.js';
export { LATEST_LEAD_MS, latestLeadKey, removeLatestLead } from './claims/latest-lead.js';
export {
  findPendingCustomer,
  PENDING_MS_MAX,
  pendingCustomer,
  readAllPendingCustomers,
  readPendingCustomers,
  removePendingCustomers,
} from './claims/pending-customers.js';
export { eraseClaims, eraseDeadLetters } from './erasure/erase-queued.js';
export type { LateRows } from './erasure/late-rows.js';
export { type QueuedReferences, queuedReferences } from './erasure/queued-references.js';
export { rewriteFiles } from './erasure/rewrite-files.js';
export { HistoryBusyError } from './history/history-state.js';
export type { RefusedRow } from './history/part-writer.js';
export type { ClickAlias, PastClaim, PastRow } from './history/past-batch.js';
export { openPastEvents, type PastBatch, type PastEvents, type PastEventsOptions } from './history/past-events.js';
export { checkCommitSize, type QueuedRow } from './producer/batch-items.js';
export type { RecordedClick } from './producer/click-recorder.js';
export {
  type CommitRequest,
  createEventProducer,
  type EventProducer,
  type EventProducerOptions,
  type FinalClaim,
} from './producer/event-producer.js';
export {
  createEventProducers,
  type EventProducers,
} from './producer/event-producers.js';
export { createGenerations } from './producer/generations.js';
export type { StateValue } from './producer/transaction.js';
export { discardDeadLetters, listDeadLetters, type RawLetter, replayDeadLetters } from './queue/dead-letters.js';
export { expireTokens } from './queue/expire-tokens.js';
export { areTokensKept, countInserts } from './queue/insert-counts.js';
export {
  DEAD_LETTER_QUEUE,
  jobKey,
  QUEUE_KINDS,
  QUEUE_PREFIX,
  queueKey,
  stateKey,
  WEBHOOK_QUEUE,
} from './queue/keys.js';
export { watchLongLocks } from './queue/long-locks.js';
export { oldestQueuedMs } from './queue/oldest-job.js';
export { type QueueDepth, queueDepths, queuedEvents } from './queue/queue-depths.js';
export { checkShardMark, ShardMismatchError } from './queue/shard-mark.js';
export * from './queue/webhook-jobs.js';
export { withoutStackTraces } from './queue/without-stack-traces.js';
export { isOutOfMemory, WORKER_SILENCE_MS_MAX } from './redis/connection.js';
export { execute } from './redis/execute-transaction.js';
export { infoField, memoryOf, memoryShare, type RedisMemory } from './redis/info.js';
export { checkRedisSettings, warnOfRedisSettings } from './redis/settings.js';
export { type QueueLogger, throttled } from './redis/throttled-log.js';
export { ownSpoolPrefix } from './spool/file-owner.js';
export {
  createTails,
  formatTailPosition,
  type OpenStream,
  parseTailPosition,
  TAIL_ENTRIES_MAX,
  type TailEntry,
  type TailPosition,
  type Tails,
} from './tail/tails.js';
export { createEventWriter, type EventWriter, type EventWriterOptions } from './writer/event-writer.js';
export type { WriteReport } from './writer/write-report.js';
