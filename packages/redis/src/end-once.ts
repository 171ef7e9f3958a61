/**
 * Whether a stream is ended for the first time. ioredis ends a connection once for every error that asks for another server, and
 * thousands of commands may wait for an answer.
 */
export function firstEnds(): (stream: object | undefined) => boolean {
  let ended: object | undefined;
  return (stream) => {
    if (stream !== undefined && stream === ended) return false;
    ended = stream;
    return true;
  };
}
