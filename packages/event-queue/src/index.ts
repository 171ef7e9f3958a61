export * from './claim-names.js';
export { type ClaimState, OWNER_GIVES_UP_MS, PENDING_TTL_MS } from './claim-value.js';
export { ClaimHeldError, type Claims } from './claims.js';
export type { Click, RecordedClick } from './click-recorder.js';
export { type DeadLetter, listDeadLetters, type ParkedLetter, replayDeadLetters } from './dead-letters.js';
export {
  type CommitRequest,
  createEventProducer,
  type EventProducer,
  type EventProducerOptions,
  type FinalClaim,
  type QueuedRow,
} from './event-producer.js';
export type { WriterLimits } from './event-worker.js';
export { createEventWriter, type EventWriter, type EventWriterOptions } from './event-writer.js';
export { execute } from './execute.js';
export { createGenerations, type Generations, type GenerationsOptions } from './generations.js';
export {
  findPendingCustomer,
  PENDING_MS_MAX,
  pendingCustomer,
  readAllPendingCustomers,
  readPendingCustomers,
} from './pending-customers.js';
export { oldestQueuedMs } from './queue-age.js';
export { type QueueDepth, queueDepths } from './queue-depths.js';
export { DEAD_LETTER_QUEUE, QUEUE_KINDS, QUEUE_PREFIX, stateKey, WEBHOOK_QUEUE } from './queue-keys.js';
export type { QueueLogger } from './queue-logger.js';
export { createRecordedClaims, type RecordedClaims } from './recorded-claims.js';
export { WORKER_SILENCE_MS_MAX } from './redis-connection.js';
export type { Load } from './redis-health.js';
export { checkRedisSettings, warnOfRedisSettings } from './redis-settings.js';
export type { StoredGroup } from './stored-group.js';
export type { StateValue } from './transaction.js';
export * from './webhook-jobs.js';
