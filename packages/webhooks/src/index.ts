export {
  type DeliverySelection,
  listDeliveryAttempts,
  type ReplayProgress,
  replayDeliveries,
} from './delivery/deliveries.js';
export { eraseWaitingBodies, eraseWebhookJobs } from './delivery/erased-events.js';
export { includesWebhooks } from './delivery/plan-check.js';
export { createWebhookWorker, type WebhookWorker, type WebhookWorkerOptions } from './delivery/webhook-worker.js';
export { createEventJobLimit } from './events/event-job-limit.js';
export { createJobEndNotifier, type JobEndNotifier } from './events/job-end-notifier.js';
export { createWebhookNotifier, type WebhookNotifier } from './events/notifier.js';
export { webhookEventIdOf } from './events/webhook-event-id.js';
export { createWebhookJobPlanner } from './events/webhook-job-planner.js';
