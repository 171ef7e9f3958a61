import { limitedNetwork, type RateLimiter } from '@waymark/rate-limit';

interface AttemptLimit {
  readonly bucket: string;
  readonly limit: number;
  readonly windowSeconds: number;
}

/** Limit of wrong passwords per network and link. */
const PER_NETWORK: AttemptLimit = { bucket: 'link-password', limit: 30, windowSeconds: 600 };

/**
 * After this many wrong passwords, whatever their networks, a link counts as under attack. Exceeding it only lowers the limit for
 * each organisation. If it refused attempts, an attacker could lock out visitors who have the password.
 */
const PER_LINK: AttemptLimit = { bucket: 'link-password-attack', limit: 300, windowSeconds: 24 * 3600 };

/**
 * Limit of wrong passwords per organisation for a link under attack. For IPv6 an organisation is a `/48`, which contains 65,536
 * customer networks, so that an attacker gains nothing from the addresses within one.
 */
const PER_ORGANISATION_UNDER_ATTACK: AttemptLimit = {
  bucket: 'link-password-under-attack',
  limit: 5,
  windowSeconds: 24 * 3600,
};
const ORGANISATION_BITS = 48;

/** Limits how often passwords of links can be guessed. */
export interface PasswordAttempts {
  /**
   * Counts a wrong password as an attempt. A correct one is only checked against the limits, after all earlier attempts.
   *
   * @param address of the visitor
   * @returns seconds after which the visitor's network may try again; undefined when it may now
   */
  take(linkId: string, address: string, isCorrect: boolean): Promise<number | undefined>;
}

/** @param limiter counts the attempts for all processes */
export function createPasswordAttempts(limiter: Pick<RateLimiter, 'take' | 'peek'>): PasswordAttempts {
  const keyOf = (linkId: string, network: string) => `${linkId} ${network}`;
  return {
    async take(linkId, address, isCorrect) {
      const count = isCorrect ? limiter.peek : limiter.take;
      const counted = (key: string, { bucket, limit, windowSeconds }: AttemptLimit) =>
        count(key, bucket, limit, windowSeconds);
      // Sent together, so that all three limits count concurrent attempts in the same order.
      const [network, link, underAttack] = await Promise.all([
        counted(keyOf(linkId, limitedNetwork(address)), PER_NETWORK),
        counted(linkId, PER_LINK),
        counted(keyOf(linkId, limitedNetwork(address, ORGANISATION_BITS)), PER_ORGANISATION_UNDER_ATTACK),
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
