export { type DeliverySelection, listDeliveries, replayDeliveries } from './deliveries.js';
export { createEventFollower } from './follow-events.js';
export { createWebhookNotifier, type WebhookNotifier } from './notifier.js';
export { createWebhookWorker, type WebhookWorker, type WebhookWorkerOptions } from './webhook-worker.js';
