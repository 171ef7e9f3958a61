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
 * Limit of wrong passwords per organisation and link. It is so far below {@link PER_LINK} that no organisation alone puts a link under attack
 * for others. For IPv6 an organisation is a `/48`, which contains 65,536 customer networks, so that an attacker gains nothing from the
 * addresses within one.
 */
const PER_ORGANISATION: AttemptLimit = { bucket: 'link-password-under-attack', limit: 100, windowSeconds: 24 * 3600 };
const ORGANISATION_BITS = 48;
/** The part of {@link PER_ORGANISATION} that is left for a link under attack. */
const LIMIT_UNDER_ATTACK = 5;

/** Limits how often passwords of links can be guessed. */
export interface PasswordAttempts {
  /**
   * Counts a wrong password as an attempt; a refused one counts for its network only. A correct one is only checked against the limits, after all earlier
   * attempts.
   *
   * @param address of the visitor
   * @returns seconds after which the visitor's network may try again; undefined when it may now
   */
  take(linkId: string, address: string, isCorrect: boolean): Promise<number | undefined>;
}

/** @param limiter counts the attempts for all processes */
export function createPasswordAttempts(limiter: Pick<RateLimiter, 'take' | 'peek' | 'giveBack'>): PasswordAttempts {
  const keyOf = (linkId: string, network: string) => `${linkId} ${network}`;
  return {
    async take(linkId, address, isCorrect) {
      const count = isCorrect ? limiter.peek : limiter.take;
      const points = isCorrect ? 0 : 1;
      const organisationKey = keyOf(linkId, limitedNetwork(address, ORGANISATION_BITS));
      const counted = (key: string, { bucket, limit, windowSeconds }: AttemptLimit) =>
        count(key, bucket, limit, windowSeconds);
      const uncount = (key: string, { bucket, windowSeconds }: AttemptLimit) =>
        limiter.giveBack(key, bucket, windowSeconds, points);
      // Sent together, so that all three limits count concurrent attempts in the same order.
      const [network, link, organisation] = await Promise.all([
        counted(keyOf(linkId, limitedNetwork(address)), PER_NETWORK),
        counted(linkId, PER_LINK),
        counted(organisationKey, PER_ORGANISATION),
      ]);
      const attempts = organisation.limit - organisation.remaining + (isCorrect ? 1 : 0);
      const waits: number[] = [];
      if (!network.allowed) waits.push(network.retryAfterSeconds);
      if (!organisation.allowed) waits.push(organisation.retryAfterSeconds);
      if (!link.allowed && attempts > LIMIT_UNDER_ATTACK) {
        waits.push(Math.min(link.retryAfterSeconds, organisation.retryAfterSeconds));
      }
      if (waits.length === 0) return undefined;
      // A refused attempt reveals nothing, so it must not lower the limits of other networks. It is first counted, then taken back, so that no
      // concurrent attempt passes. Refusing a correct password takes as long.
      await Promise.all([uncount(linkId, PER_LINK), uncount(organisationKey, PER_ORGANISATION)]);
      return Math.max(...waits);
    },
  };
}
