import type { Catalog, LinkRecord, Stores } from '@waymark/catalog';
import type { Logger } from '@waymark/http-kit';
import { keyPrefix } from '@waymark/redis';

export interface LinkTestsOptions {
  readonly catalog: Pick<Catalog, 'linkTests'>;
  readonly redis: Stores['redis'];
  /** Called for every link whose destination has changed. Must not reject. */
  readonly onChanged: (link: LinkRecord) => Promise<void>;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly intervalMs?: number;
}

export interface LinkTests {
  /** Completes the tests that are due, unless another writer is doing so. Never rejects. */
  run(): Promise<void>;
  close(): Promise<void>;
}

const INTERVAL_MS = 60_000;
/** Delay before a test is completed, so that its last leads are in ClickHouse. */
const WRITE_DELAY_MS = 60_000;
const LOCK_MS = 50_000;
/** How far back the first run looks for tests, and the first one after Redis has lost its data. */
const LOOKBACK_MS = 7 * 86_400_000;

/** Completes A/B tests of links when they end, in one writer at a time. */
export function startLinkTests(options: LinkTestsOptions): LinkTests {
  const { catalog, redis, onChanged, logger, now = Date.now, random = Math.random } = options;
  const prefix = `${keyPrefix(redis)}waymark:link-tests:`;
  /** The time up to which tests are completed; the next run continues there. */
  const cursorKey = `${prefix}until`;
  const lockKey = `${prefix}turn`;
  let running: Promise<void> | undefined;

  async function complete(): Promise<void> {
    if ((await redis.set(lockKey, '1', 'PX', LOCK_MS, 'NX')) === null) return;
    const cursor = await redis.get(cursorKey);
    const untilMs = now() - WRITE_DELAY_MS;
    const fromMs = cursor === null ? untilMs - LOOKBACK_MS : Number(cursor);
    const changed = await catalog.linkTests.complete({ fromMs, untilMs, untouchedOnly: cursor === null, random });
    for (const link of changed) {
      logger.info({ linkId: link.id, url: link.url }, 'an A/B test of a link is complete');
      await onChanged(link);
    }
    await redis.set(cursorKey, String(Math.max(fromMs, untilMs)));
  }

  const run = (): Promise<void> => {
    running ??= complete()
      .catch((err: unknown) => logger.error({ err }, 'A/B tests of links could not be completed; retrying in a minute'))
      .finally(() => {
        running = undefined;
      });
    return running;
  };

  const timer = setInterval(() => void run(), options.intervalMs ?? INTERVAL_MS);
  timer.unref();
  return {
    run,
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
