/** A server-sent event, with the texts of its fields; undefined for fields that it does not have. */
export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
  readonly retry: string | undefined;
}

/** Parses an event. A field has one line, because the API never splits `data`. */
function parseEvent(text: string): ServerSentEvent {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const [id, event, data, retry] = ['id', 'event', 'data', 'retry'].map((name) => fields.get(name));
  return { id, event, data, retry };
}

/** Reads the events of a body as they arrive. A blank line ends each. */
export async function* readServerSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const texts = rest.split('\n\n');
    rest = texts.pop() ?? '';
    for (const event of texts) yield parseEvent(event);
  }
}
