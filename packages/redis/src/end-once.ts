/**
 * Creates a function that returns false for the socket of its previous call, so that `disconnect` closes each socket once.
 * ioredis calls `disconnect` for every reply that leads to a reconnect, and thousands of commands may be waiting for a reply.
 */
export function firstEnds(): (stream: object | undefined) => boolean {
  let ended: object | undefined;
  return (stream) => {
    if (stream !== undefined && stream === ended) return false;
    ended = stream;
    return true;
  };
}
