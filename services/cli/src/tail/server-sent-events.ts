/** An event of a stream of server-sent events, with the texts of its fields; undefined for fields that it does not have. */
export interface StreamBlock {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
  readonly retry: string | undefined;
}

/** Parses a block. A field has one line, because the API never splits `data`. */
function parseBlock(text: string): StreamBlock {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const [id, event, data, retry] = ['id', 'event', 'data', 'retry'].map((name) => fields.get(name));
  return { id, event, data, retry };
}

/** Reads the blocks of a body as they arrive. */
export async function* readBlocks(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamBlock> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) yield parseBlock(block);
  }
}
