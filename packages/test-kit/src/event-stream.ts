import { waitFor } from './wait-for.js';

/** A frame of a stream of server-sent events. */
export interface SentFrame {
  readonly id: string;
  readonly event: string;
  /** The text after `data: `. */
  readonly data: string;
  /** When it arrived, epoch milliseconds. */
  readonly at: number;
}

/** A client that reads a stream of server-sent events until it ends or is closed. */
export interface EventStreamClient {
  readonly status: number;
  readonly headers: Headers;
  /** The body, if the answer is not a stream. */
  readonly text: string;
  readonly frames: readonly SentFrame[];
  readonly comments: readonly string[];
  /** What a client that connects again sends as `Last-Event-ID`: the last id, also of blocks without data. */
  lastId(): string;
  /** Whether the stream has ended, or was closed by the client. */
  isEnded(): boolean;
  /** Waits for a frame, also one that has arrived before. @param what the frame, for the error message */
  until(isIt: (frame: SentFrame) => boolean, what: string): Promise<SentFrame>;
  untilEnded(): Promise<void>;
  close(): Promise<void>;
}

/** What {@link openEventStream} requests. */
export interface EventStreamRequest {
  readonly url: string;
  /** An API key. */
  readonly token: string;
  readonly lastEventId?: string | undefined;
}

/** Opens a stream. Resolves when the first bytes have arrived, or with the error that was answered. */
export async function openEventStream({ url, token, lastEventId }: EventStreamRequest): Promise<EventStreamClient> {
  const leaving = new AbortController();
  const headers = {
    authorization: `Bearer ${token}`,
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  };
  const response = await fetch(url, { headers, signal: leaving.signal });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const frames: SentFrame[] = [];
  const comments: string[] = [];
  let lastId = lastEventId ?? '';
  let isEnded = !isStream;

  function takeBlock(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const colon = line.indexOf(': ');
      if (colon === 0) comments.push(line.slice(2));
      else fields.set(line.slice(0, colon), line.slice(colon + 2));
    }
    lastId = fields.get('id') ?? lastId;
    const data = fields.get('data');
    if (data !== undefined) frames.push({ id: lastId, event: fields.get('event') ?? '', data, at: Date.now() });
  }

  async function read(): Promise<void> {
    let rest = '';
    try {
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        rest += Buffer.from(chunk).toString('latin1');
        const blocks = rest.split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) takeBlock(Buffer.from(block, 'latin1').toString('utf8'));
      }
    } catch {
      // The server was killed, or this client has left.
    }
    isEnded = true;
  }

  const text = isStream ? '' : await response.text();
  const reading = isStream ? read() : Promise.resolve();
  if (isStream) await waitFor(() => comments.length > 0 || isEnded, { what: 'the first bytes of the stream' });
  return {
    status: response.status,
    headers: response.headers,
    text,
    frames,
    comments,
    lastId: () => lastId,
    isEnded: () => isEnded,
    until: (isIt, what) =>
      waitFor(() => frames.find(isIt), { what, details: () => `${frames.length} frames have arrived` }),
    async untilEnded() {
      await waitFor(() => isEnded, { what: 'the end of the stream' });
    },
    async close() {
      leaving.abort();
      await reading;
    },
  };
}
