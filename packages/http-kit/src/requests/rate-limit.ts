import { ApiError } from '@waymark/contract';
import type { RateLimiter } from '@waymark/rate-limit';
import type { FastifyReply } from 'fastify';

/** A rate limit: a number of calls in a window. */
export interface RateLimit {
  /** Name of the counter. */
  readonly bucket: string;
  readonly limit: number;
  readonly windowSeconds: number;
  /** For the message, what is limited if it is not an API key: `from one network`. */
  readonly subject?: string;
}

function setHeaders(reply: FastifyReply, limit: number, remaining: number, resetEpochSeconds: number): void {
  reply.header('x-ratelimit-limit', String(limit));
  reply.header('x-ratelimit-remaining', String(remaining));
  reply.header('x-ratelimit-reset', String(resetEpochSeconds));
}

/**
 * Counts a call against a rate limit and sets the `X-RateLimit-*` headers of the response. An undefined limit means no access: nothing
 * is counted, and the headers report a limit of 0.
 *
 * @throws ApiError 429, with `Retry-After`, beyond the limit
 */
export async function applyRateLimit(
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
      ...(rate.subject === undefined ? [] : [rate.subject]),
    ];
    const message = `Rate limit exceeded: ${rule.join(' ')}. Retry in ${result.retryAfterSeconds} s.`;
    throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: result.retryAfterSeconds });
  }
}
