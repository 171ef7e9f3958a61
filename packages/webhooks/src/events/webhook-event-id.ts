import { createHash, randomBytes } from 'node:crypto';
import { BASE62_ALPHABET, type WebhookTrigger } from '@waymark/contract';

const CHARS = 25;

/** `evt_` and 25 characters of base 62, from at least 19 bytes. */
function idOf(bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let position = 0; position < CHARS; position++) {
    text = (BASE62_ALPHABET[Number(rest % 62n)] ?? '') + text;
    rest /= 62n;
  }
  return `evt_${text}`;
}

/** The id under which an event is delivered: `evt_` and 25 characters, derived from the event's own id. */
export function webhookEventIdOf(event: WebhookTrigger, eventId: string): string {
  return idOf(createHash('sha256').update(`${event}/${eventId}`).digest());
}

/** A random id, for changes that have no event id of their own. */
export function createWebhookEventId(): string {
  return idOf(randomBytes(32));
}
