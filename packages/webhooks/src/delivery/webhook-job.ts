import { parseResourceId, webhookTriggerSchema } from '@waymark/contract';
import { z } from 'zod';

/** An event with the body to deliver. */
const outgoingEventSchema = z.object({
  /** `evt_…` */
  id: z.string(),
  /** The request body, JSON. */
  body: z.string(),
});
export type OutgoingEvent = z.infer<typeof outgoingEventSchema>;

/** A job as stored in Redis. The field `told`, whose name is part of the stored format, is `events` in {@link WebhookJobData}. */
const storedJobSchema = z
  .object({
    v: z.literal(1),
    workspaceId: z.string(),
    webhookId: z.string(),
    event: webhookTriggerSchema,
    /** Number of the attempt, from 1. */
    attempt: z.int().min(1),
    /** Suffix that makes the job ids of a replay unique; otherwise empty. */
    replay: z.string(),
    /** Ids of events in ClickHouse. */
    eventIds: z.array(z.string()),
    told: z.array(outgoingEventSchema),
    /** For events that were looked up before: how often, and the time that the first look-up has returned. */
    lookUp: z.object({ round: z.int().min(1), since: z.number().optional() }).optional(),
  })
  .transform(({ told, ...fields }) => ({ ...fields, events: told }));

/**
 * The events that one job delivers to one webhook. Events in ClickHouse are listed by their ids, so that a backlog of clicks is small.
 * Replays, and events that are in no table, are listed with their bodies.
 */
export type WebhookJobData = z.infer<typeof storedJobSchema>;

/** @returns undefined if the data is not a supported job */
export function readJobData(data: unknown): WebhookJobData | undefined {
  return storedJobSchema.safeParse(data).data;
}

/** The fields of a new job. By default it has no events and is the first attempt. */
export type NewJobData = Pick<WebhookJobData, 'workspaceId' | 'webhookId' | 'event'> & Partial<WebhookJobData>;

/** Serializes a job for Redis. */
export function jobText({ events = [], ...fields }: NewJobData): string {
  const stored: z.input<typeof storedJobSchema> = {
    attempt: 1,
    replay: '',
    eventIds: [],
    told: [...events],
    ...fields,
    v: 1,
  };
  return JSON.stringify(stored);
}

/** What the ids of all jobs of the webhook start with, and of no other. */
export function jobIdPrefix(webhookId: string): string {
  return `${parseResourceId('webhook', webhookId)}-`;
}

/** @param suffix identifies the job among those of the webhook: the same suffix must mean the same content */
export function webhookJobId(webhookId: string, suffix: string): string {
  return jobIdPrefix(webhookId) + suffix;
}
