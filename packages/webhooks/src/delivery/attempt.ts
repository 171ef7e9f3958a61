import type { WebhookRecord } from '@waymark/catalog';
import type { WebhookTrigger } from '@waymark/contract';
import type { Outbound } from '@waymark/outbound';
import type { Delivery } from './delivery-log.js';
import { SIGNATURE_HEADER, signatureOf } from './signature.js';
import type { ToldEvent } from './webhook-job.js';

export interface AttemptParts {
  readonly outbound: Outbound;
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** A webhook and what its deliveries are signed with. */
export interface SignedWebhook {
  readonly webhook: WebhookRecord;
  readonly secret: string;
}

const TIMEOUT_MS = 10_000;
/** What is kept of an answer; more is not received. */
const ANSWER_BYTES_MAX = 8_192;
const USER_AGENT = 'Waymark-Webhooks/1.0';
/** Stands in the log for a receiver that gave no answer. */
const NO_ANSWER = 503;

/** Sends one event to a webhook once. Never throws for what the receiver does. */
export async function attemptDelivery(
  { outbound, now, timeoutMs = TIMEOUT_MS }: AttemptParts,
  { webhook, secret }: SignedWebhook,
  told: ToldEvent,
  { event, attempt }: { readonly event: WebhookTrigger; readonly attempt: number },
): Promise<Delivery> {
  const { body } = told;
  const at = now();
  const began = performance.now();
  const delivery = (status: number, error: string, responseBody: string): Delivery => ({
    workspaceId: webhook.workspaceId,
    webhookId: webhook.id,
    eventId: told.id,
    event,
    attempt,
    at,
    url: webhook.url,
    status,
    elapsedMs: performance.now() - began,
    error,
    requestBody: body,
    responseBody,
  });
  try {
    const answer = await outbound.send({
      method: 'POST',
      url: webhook.url,
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': USER_AGENT,
        [SIGNATURE_HEADER]: signatureOf(body, secret),
      },
      body,
      timeoutMs,
      answerBytesMax: ANSWER_BYTES_MAX,
    });
    return delivery(answer.status, '', answer.body.toString('utf8'));
  } catch (err) {
    return delivery(NO_ANSWER, err instanceof Error ? err.message : String(err), '');
  }
}
