import { type ApiRequests, TemporaryError } from '../api/api-requests.js';
import { readServerSentEvents } from './server-sent-events.js';

/** Options of {@link followEvents}. */
export interface FollowOptions {
  readonly api: ApiRequests;
  /** `/events/stream` with its query string. */
  readonly path: string;
  /** Receives an event as JSON. The next event is read after it resolves. */
  readonly onEvent: (json: string) => Promise<void>;
  /** Receives messages about the connection and about gaps in the stream. */
  readonly onStatus: (text: string) => void;
  /** The signal of `api`. */
  readonly signal: AbortSignal;
}

const EVENTS = new Set<string | undefined>(['click', 'lead', 'sale']);

/**
 * Follows a stream of events. When the stream ends, it connects again and resumes at the same position.
 *
 * @throws the reason of the signal; CommandError when the API answers with an error that a repeat would not change; errors of `onEvent`
 */
export function followEvents({ api, path, onEvent, onStatus, signal }: FollowOptions): Promise<never> {
  let lastId: string | undefined;
  /** The pause before the next connection, from the field `retry` of the stream. */
  let retryMs: number | undefined;

  return api.untilDone(async (progressed) => {
    const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
    const { body } = await api.send({ path, headers });
    onStatus(lastId === undefined ? 'following' : 'following again');
    let end = 'the stream has ended';
    for await (const { id, event, data, retry } of readServerSentEvents(body)) {
      // The API sends `retry` with the first and the last event of a stream.
      if (retry !== undefined) retryMs = Number(retry);
      progressed(retryMs);
      if (data !== undefined && EVENTS.has(event)) await onEvent(data);
      else if (event === 'gap' && data !== undefined) onStatus(`events are missing: ${data}`);
      else if (event === 'bye' && data !== undefined) end = `the stream has ended: ${data}`;
      lastId = id ?? lastId;
      // Checked here, because an aborted signal does not end the loop once all of the response has arrived.
      signal.throwIfAborted();
    }
    throw new TemporaryError(end);
  });
}
