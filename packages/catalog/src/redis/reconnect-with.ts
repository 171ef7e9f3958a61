import type { Redis } from 'ioredis';

/**
 * Makes a connection open anew whenever another one closes.
 *
 * @returns a function that ends this
 */
export function reconnectWith(leader: Redis, follower: Redis): () => void {
  /** Whether the connection that is being opened may be to the server that the leader has left. */
  let isOutdated = false;

  function leave(): void {
    // ioredis does not reconnect a connection that is ended while the address of its server is looked up at Sentinels or nodes of a cluster.
    if (follower.status === 'connecting') isOutdated = true;
    else follower.disconnect(true);
  }
  function opened(): void {
    if (isOutdated) follower.disconnect(true);
  }
  function closed(): void {
    isOutdated = false;
  }

  leader.on('close', leave);
  follower.on('connect', opened);
  follower.on('close', closed);
  return () => {
    leader.off('close', leave);
    follower.off('connect', opened);
    follower.off('close', closed);
  };
}
