import { parseResourceId, webhookTriggerSchema } from '@waymark/contract';
import { z } from 'zod';

/** An event as it is delivered. */
const toldEventSchema = z.object({
  /** `evt_…` */
  id: z.string(),
  /** The JSON text to be sent. */
  body: z.string(),
});
export type ToldEvent = z.infer<typeof toldEventSchema>;

const webhookJobDataSchema = z.object({
  v: z.literal(1),
  workspaceId: z.string(),
  webhookId: z.string(),
  event: webhookTriggerSchema,
  /** From 1. */
  attempt: z.int().min(1),
  /** Tells the attempts of a replay from those before it; empty at first. */
  replay: z.string(),
  eventIds: z.array(z.string()),
  told: z.array(toldEventSchema),
});

/**
 * What one job delivers to one webhook. Events that are in ClickHouse are named by their ids, so that a backlog of clicks is
 * small; what exists nowhere else, and what is tried again, carries its text.
 */
export type WebhookJobData = z.infer<typeof webhookJobDataSchema>;

/** @returns undefined for what is no job of ours */
export function readJobData(data: unknown): WebhookJobData | undefined {
  return webhookJobDataSchema.safeParse(data).data;
}

/** What a job must say; the rest is none, and the attempt the first. */
export type NewJobData = Pick<WebhookJobData, 'workspaceId' | 'webhookId' | 'event'> & Partial<WebhookJobData>;

export function jobText(data: NewJobData): string {
  const whole: WebhookJobData = { attempt: 1, replay: '', eventIds: [], told: [], ...data, v: 1 };
  return JSON.stringify(whole);
}

/** @param mark distinguishes the job from others of the webhook: the same mark, the same content */
export function webhookJobId(webhookId: string, mark: string): string {
  return `${parseResourceId('webhook', webhookId)}-${mark}`;
}
