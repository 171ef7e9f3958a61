/**
 * Creates a function that returns false for the socket of its previous call. With it, `disconnect` closes each socket once, although
 * ioredis calls `disconnect` for every reply that leads to a reconnect, and thousands of commands may be waiting for a reply.
 */
export function createFirstCloseCheck(): (stream: object | undefined) => boolean {
  let closed: object | undefined;
  return (stream) => {
    if (stream !== undefined && stream === closed) return false;
    closed = stream;
    return true;
  };
}
