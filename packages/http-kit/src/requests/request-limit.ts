import { ApiError } from '@waymark/contract';
import type { RateLimiter } from '@waymark/rate-limit';
import type { FastifyReply } from 'fastify';

export interface RateLimit {
  readonly bucket: string;
  readonly limit: number;
  readonly windowSeconds: number;
  /** Whom it limits, for the message, where that is not a key: `from one network`. */
  readonly whose?: string;
}

function setHeaders(reply: FastifyReply, limit: number, remaining: number, resetEpochSeconds: number): void {
  reply.header('x-ratelimit-limit', String(limit));
  reply.header('x-ratelimit-remaining', String(remaining));
  reply.header('x-ratelimit-reset', String(resetEpochSeconds));
}

/**
 * Counts a call and sets the `X-RateLimit-*` and `Retry-After` headers, which every answer to the call keeps. No limit = no
 * access: nothing is counted, and the headers say that nothing is allowed.
 *
 * @throws ApiError 429 beyond the limit
 */
export async function countRequest(
  rateLimiter: RateLimiter,
  key: string,
  rate: RateLimit | undefined,
  reply: FastifyReply,
  now: () => number,
): Promise<void> {
  if (rate === undefined) {
    setHeaders(reply, 0, 0, Math.ceil(now() / 1000));
    return;
  }
  const result = await rateLimiter.take(key, rate.bucket, rate.limit, rate.windowSeconds);
  setHeaders(reply, result.limit, result.remaining, result.resetEpochSeconds);
  if (!result.allowed) {
    reply.request.isOverLimit = true;
    const rule = [
      `${rate.limit} requests in ${rate.windowSeconds} s`,
      ...(rate.whose === undefined ? [] : [rate.whose]),
    ];
    const message = `Rate limit exceeded: ${rule.join(' ')}. Retry in ${result.retryAfterSeconds} s.`;
    throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: result.retryAfterSeconds });
  }
}
