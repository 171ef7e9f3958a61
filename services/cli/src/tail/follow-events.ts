import { setTimeout as delay } from 'node:timers/promises';
import { askedPauseMs } from '../asked-pause.js';
import { CommandError } from '../command-error.js';
import { readServerSentEvents } from './server-sent-events.js';

/** Options of {@link followEvents}. */
export interface FollowOptions {
  /** `GET /events/stream` with its query string. */
  readonly url: string;
  /** Creates an API key. Called again when the API does not accept the last one any more. */
  readonly newKey: () => Promise<string>;
  /** Receives an event as JSON. The next event is read after it resolves. */
  readonly onEvent: (json: string) => Promise<void>;
  /** Receives messages about the connection and about gaps in the stream. */
  readonly onStatus: (text: string) => void;
  readonly signal: AbortSignal;
}

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 10_000;

const EVENTS = new Set<string | undefined>(['click', 'lead', 'sale']);

/** The message of an error response. */
async function messageOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  return body?.error?.message ?? `the API answers ${response.status}`;
}

/**
 * Follows a stream of events until the signal aborts. When the stream ends, it connects again and resumes at the same position.
 *
 * @throws CommandError when the API answers with an error that a repeat would not change
 */
export async function followEvents({ url, newKey, onEvent, onStatus, signal }: FollowOptions): Promise<void> {
  let key = await newKey();
  let isKeyNew = true;
  let lastId: string | undefined;
  let retryMs = RETRY_MS_MIN;

  async function readStream(response: Response): Promise<void> {
    onStatus(lastId === undefined ? 'following' : 'following again');
    isKeyNew = false;
    for await (const { id, event, data, retry } of readServerSentEvents(
      response.body as unknown as AsyncIterable<Uint8Array>,
    )) {
      if (data !== undefined && EVENTS.has(event)) await onEvent(data);
      else if (event === 'gap' && data !== undefined) onStatus(`events are missing: ${data}`);
      else if (event === 'bye' && data !== undefined) onStatus(`the stream ends: ${data}`);
      lastId = id ?? lastId;
      // The server sends `retry` with the first and the last event of a stream.
      if (retry !== undefined) retryMs = Number(retry);
      // Checked here, because an aborted signal does not end the loop once all of the response has arrived.
      if (signal.aborted) return;
    }
  }

  async function attempt(): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, ...(lastId !== undefined && { 'last-event-id': lastId }) };
    const response = await fetch(url, { headers, signal });
    if (response.ok) return readStream(response);
    const message = await messageOf(response);
    if (response.status === 401 && !isKeyNew) {
      key = await newKey();
      isKeyNew = true;
      return;
    }
    if (response.status < 500 && response.status !== 429) throw new CommandError(message);
    onStatus(message);
    retryMs = Math.max(retryMs, askedPauseMs(response.headers.get('retry-after')));
  }

  while (!signal.aborted) {
    try {
      await attempt();
    } catch (err) {
      if (signal.aborted) return;
      if (err instanceof CommandError) throw err;
      onStatus('the connection to the API is lost');
      retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
    }
    await delay(retryMs, undefined, { signal }).catch(() => undefined);
  }
}
