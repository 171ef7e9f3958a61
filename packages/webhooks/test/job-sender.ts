import { createWebhookJobSender, type WebhookJobSender } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import type { Redis } from 'ioredis';

/** Adds jobs to the queue in a Redis without replicas. */
export function jobSender(redis: Redis): WebhookJobSender {
  return createWebhookJobSender(redis, createReplication(redis, 0));
}
