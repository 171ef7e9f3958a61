import { type WorkspaceRecord, workspaceLimits } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { applyRateLimit, clientNetwork } from '@waymark/http-kit';
import { limitedNetwork, type RateLimiter } from '@waymark/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Limits for callers without a secret key: everybody who can read a page can send the same requests. They are counted by network, so
 * that no single caller can exhaust the event quota of a workspace.
 */
export interface NetworkLimits {
  /** The `onRequest` hook that counts a call of `/track/click`, `/track/open` or `/track/visit`. @throws ApiError rate_limit_exceeded */
  readonly countBrowserReport: CallCounter;
  /** The same for `/track/lead/client` and `/track/sale/client`. */
  readonly countPageConversion: CallCounter;
  /**
   * Counts events against the number that one network may record per workspace and day. The events of a refused call with several are taken
   * off again; a refused single event is counted, beyond the limit.
   *
   * @throws ApiError rate_limit_exceeded
   */
  takeDailyEvents(workspace: WorkspaceRecord, address: string, events: number): Promise<void>;
}

type CallCounter = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export interface NetworkLimitsOptions {
  readonly rateLimiter: RateLimiter;
  readonly now: () => number;
}

/** Limit on browser reports. It is high, because many people share an address in an office or a mobile network. */
const BROWSER_REPORTS = { bucket: 'track-network', limit: 600, windowSeconds: 60, subject: 'from one network' };
/** Limit on conversions from pages: a fifth of the limit of a publishable key. */
const PAGE_CONVERSIONS = { bucket: 'track-client-network', limit: 120, windowSeconds: 60, subject: 'from one network' };

const DAILY_EVENTS_BUCKET = 'track-share';
const DAY_SECONDS = 24 * 3600;
/** A tenth of an average day: a month's quota divided by 30 days and 10. */
const MONTHLY_QUOTA_DIVISOR = 300;
const DAILY_EVENTS_MIN = 100;

/** Events that one network may record per day in the workspace; undefined = unlimited. */
function dailyEventLimit(workspace: WorkspaceRecord): number | undefined {
  const { eventsPerMonth } = workspaceLimits(workspace).quotas;
  return eventsPerMonth === null
    ? undefined
    : Math.max(DAILY_EVENTS_MIN, Math.floor(eventsPerMonth / MONTHLY_QUOTA_DIVISOR));
}

/** Creates the limits, which count in `rateLimiter` for all processes. */
export function createNetworkLimits({ rateLimiter, now }: NetworkLimitsOptions): NetworkLimits {
  const counter =
    (rate: typeof BROWSER_REPORTS): CallCounter =>
    (request, reply) =>
      applyRateLimit(rateLimiter, clientNetwork(request), rate, reply, now);

  return {
    countBrowserReport: counter(BROWSER_REPORTS),
    countPageConversion: counter(PAGE_CONVERSIONS),

    async takeDailyEvents(workspace, address, events) {
      const limit = dailyEventLimit(workspace);
      if (limit === undefined) return;
      const key = `${workspace.id} ${limitedNetwork(address)}`;
      const counted = await rateLimiter.take(key, DAILY_EVENTS_BUCKET, limit, DAY_SECONDS, events);
      if (counted.allowed) return;
      // A call with many events must not use up what is left for those with one. A refused call with one event was beyond the limit already.
      if (events > 1) await rateLimiter.giveBack(key, DAILY_EVENTS_BUCKET, DAY_SECONDS, events);
      const { retryAfterSeconds } = counted;
      const message = `Too many events: one network may record ${limit} a day in this workspace without a secret key. Retry in ${retryAfterSeconds} s.`;
      throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds });
    },
  };
}
