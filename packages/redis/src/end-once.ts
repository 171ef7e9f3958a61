/**
 * Creates a function that returns whether `disconnect` is called for a stream for the first time. ioredis calls it for every reply that
 * leads to a reconnect, and thousands of commands may be waiting for a reply.
 */
export function firstEnds(): (stream: object | undefined) => boolean {
  let ended: object | undefined;
  return (stream) => {
    if (stream !== undefined && stream === ended) return false;
    ended = stream;
    return true;
  };
}
