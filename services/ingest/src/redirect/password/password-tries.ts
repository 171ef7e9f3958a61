import { limitedNetwork, type RateLimiter } from '@waymark/rate-limit';

interface Bound {
  readonly bucket: string;
  readonly limit: number;
  readonly windowSeconds: number;
}

/** Wrong passwords that one network may send for a link. */
const OF_NETWORK: Bound = { bucket: 'link-password', limit: 30, windowSeconds: 600 };

/**
 * Wrong passwords that all networks together may send for a link before it counts as under attack. It is not a limit: a
 * stranger could use it up and lock out those who have the password.
 */
const OF_LINK: Bound = { bucket: 'link-password-attack', limit: 300, windowSeconds: 24 * 3600 };

/**
 * Wrong passwords that one network may send for a link under attack: what many addresses can try together grows with the
 * networks they are in alone. Providers give an organisation a `/48` of IPv6, which holds 65,536 networks of customers.
 */
const UNDER_ATTACK: Bound = { bucket: 'link-password-under-attack', limit: 5, windowSeconds: 24 * 3600 };
const ORGANISATION_BITS = 48;

/** Bounds guesses of links' passwords. */
export interface PasswordTries {
  /**
   * Counts a wrong password as a try; a right one is looked up behind the tries before it, and is none.
   *
   * @param address of the visitor
   * @returns seconds after which the visitor's network may try again; undefined when it may now
   */
  take(linkId: string, address: string, isRight: boolean): Promise<number | undefined>;
}

export function createPasswordTries(limiter: Pick<RateLimiter, 'take' | 'peek'>): PasswordTries {
  const keyOf = (linkId: string, network: string) => `${linkId} ${network}`;
  return {
    async take(linkId, address, isRight) {
      const count = isRight ? limiter.peek : limiter.take;
      const counted = (key: string, { bucket, limit, windowSeconds }: Bound) =>
        count(key, bucket, limit, windowSeconds);
      // At the same moment, so that the counts of two tries keep their order.
      const [network, link, underAttack] = await Promise.all([
        counted(keyOf(linkId, limitedNetwork(address)), OF_NETWORK),
        counted(linkId, OF_LINK),
        counted(keyOf(linkId, limitedNetwork(address, ORGANISATION_BITS)), UNDER_ATTACK),
      ]);
      const waits: number[] = [];
      if (!network.allowed) waits.push(network.retryAfterSeconds);
      if (!link.allowed && !underAttack.allowed) {
        waits.push(Math.min(link.retryAfterSeconds, underAttack.retryAfterSeconds));
      }
      return waits.length === 0 ? undefined : Math.max(...waits);
    },
  };
}
