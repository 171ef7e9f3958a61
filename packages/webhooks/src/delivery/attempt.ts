import type { WebhookRecord } from '@waymark/catalog';
import type { WebhookTrigger } from '@waymark/contract';
import type { Outbound } from '@waymark/outbound';
import type { DeliveryAttempt } from './delivery-log.js';
import { SIGNATURE_HEADER, signatureOf } from './signature.js';
import type { OutgoingEvent } from './webhook-job.js';

/** Dependencies of {@link attemptDelivery}. */
export interface AttemptDeps {
  readonly outbound: Outbound;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Time limit of an attempt; ten seconds by default. */
  readonly timeoutMs?: number;
}

/** A webhook and the secret with which its deliveries are signed. */
export interface SignedWebhook {
  readonly webhook: WebhookRecord;
  readonly secret: string;
}

const TIMEOUT_MS = 10_000;
/** Limit on the part of a response body that is read and logged. */
const ANSWER_BYTES_MAX = 8_192;
const USER_AGENT = 'Waymark-Webhooks/1.0';
/** Status in the log of an attempt without a response. */
const NO_ANSWER = 503;

/** Sends one event to a webhook once. Errors of the receiver are returned in the result, not thrown. */
export async function attemptDelivery(
  { outbound, now, timeoutMs = TIMEOUT_MS }: AttemptDeps,
  { webhook, secret }: SignedWebhook,
  outgoing: OutgoingEvent,
  { event, attempt }: { readonly event: WebhookTrigger; readonly attempt: number },
): Promise<DeliveryAttempt> {
  const { body } = outgoing;
  const startedMs = now();
  const start = performance.now();
  const ended = (status: number, error: string, responseBody: string): DeliveryAttempt => ({
    workspaceId: webhook.workspaceId,
    webhookId: webhook.id,
    eventId: outgoing.id,
    event,
    attempt,
    startedMs,
    url: webhook.url,
    status,
    elapsedMs: performance.now() - start,
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
      responseBytesMax: ANSWER_BYTES_MAX,
      // The body is only logged: a receiver that has answered 2xx has the event.
      acceptsPartialBody: true,
    });
    return ended(answer.status, '', answer.body.toString('utf8'));
  } catch (err) {
    return ended(NO_ANSWER, err instanceof Error ? err.message : String(err), '');
  }
}
