import { type WorkspaceRecord, workspaceLimits } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { applyRateLimit } from '@waymark/http-kit';
import { limitedNetwork, type RateLimiter } from '@waymark/rate-limit';
import type { VisitReader } from '@waymark/visit';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Limits of callers without a secret key: whoever reads a page can send what it sends. They are counted by network, so
 * that no caller uses up the events of a workspace.
 */
export interface NetworkLimits {
  /** Counts a call; for `onRequest`, before anything is done for it. @throws ApiError rate_limit_exceeded */
  readonly countBrowserCall: CallCounter;
  readonly countClientCall: CallCounter;
  /**
   * Takes events from what one network may record in a workspace a day.
   *
   * @throws ApiError rate_limit_exceeded
   */
  takeShare(workspace: WorkspaceRecord, address: string, events: number): Promise<void>;
}

type CallCounter = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export interface NetworkLimitsOptions {
  readonly rateLimiter: RateLimiter;
  readonly readVisit: VisitReader;
  readonly now: () => number;
}

/** Many people share an address: an office, a mobile network. */
const BROWSER_CALLS = { bucket: 'track-network', limit: 600, windowSeconds: 60, subject: 'from one network' };
/** A fifth of what the publishable key allows for all networks together. */
const CLIENT_CALLS = { bucket: 'track-client-network', limit: 120, windowSeconds: 60, subject: 'from one network' };

const SHARE_BUCKET = 'track-share';
const DAY_SECONDS = 24 * 3600;
/** A tenth of what the workspace may track on a day of an even month. */
const SHARES_OF_MONTH = 300;
const SHARE_MIN = 100;

/** Events that one network may record in the workspace a day; undefined = as many as it likes. */
function dailyShare(workspace: WorkspaceRecord): number | undefined {
  const { eventsPerMonth } = workspaceLimits(workspace).quotas;
  return eventsPerMonth === null ? undefined : Math.max(SHARE_MIN, Math.floor(eventsPerMonth / SHARES_OF_MONTH));
}

/** The address of a request's visitor, as visits are read. */
export function callerAddress(readVisit: VisitReader, request: FastifyRequest): string {
  const { method, headers } = request;
  return readVisit({ remoteAddress: request.raw.socket.remoteAddress, headers, method }).clientAddress;
}

export function createNetworkLimits({ rateLimiter, readVisit, now }: NetworkLimitsOptions): NetworkLimits {
  const counter =
    (rate: typeof BROWSER_CALLS): CallCounter =>
    (request, reply) =>
      applyRateLimit(rateLimiter, limitedNetwork(callerAddress(readVisit, request)), rate, reply, now);

  return {
    countBrowserCall: counter(BROWSER_CALLS),
    countClientCall: counter(CLIENT_CALLS),

    async takeShare(workspace, address, events) {
      const limit = dailyShare(workspace);
      if (limit === undefined) return;
      const key = `${workspace.id} ${limitedNetwork(address)}`;
      const counted = await rateLimiter.take(key, SHARE_BUCKET, limit, DAY_SECONDS, events);
      if (counted.allowed) return;
      const { retryAfterSeconds } = counted;
      const message = `Too many events: one network may record ${limit} a day in this workspace without a secret key. Retry in ${retryAfterSeconds} s.`;
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds });
    },
  };
}
