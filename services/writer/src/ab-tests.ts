import type { Stores } from '@waymark/bootstrap';
import type { Catalog, LinkRecord } from '@waymark/catalog';
import type { Logger } from '@waymark/http-kit';
import { keyPrefix, takeLease } from '@waymark/redis';
import { type PeriodicTask, startPeriodicTask } from './periodic-task.js';

export interface AbTestsOptions {
  readonly catalog: Pick<Catalog, 'abTests'>;
  readonly redis: Stores['redis'];
  /** Called for each link whose destination a run has changed, before it goes on. Must not reject. */
  readonly onChanged: (link: LinkRecord) => Promise<void>;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 60_000;
/** Time between the end of a test and its completion, so that its last leads are in ClickHouse by then. */
const WRITE_DELAY_MS = 60_000;
/** How far back a run looks for ended tests if Redis has no cursor: the first run of an installation, or after Redis has lost its data. */
const LOOKBACK_MS = 7 * 86_400_000;
/** How much the clocks of two writers may differ. A cursor that is further ahead is from a clock that was wrong, and counts as absent. */
const CLOCKS_DIFFER_MS_MAX = 10 * 60_000;

/** Completes A/B tests of links when they end, in one writer at a time. */
export function startAbTests(options: AbTestsOptions): PeriodicTask {
  const { catalog, redis, onChanged, logger, now = Date.now, random = Math.random } = options;
  /** The key with the time up to which tests are completed, epoch milliseconds. The next run continues there. */
  const cursorKey = `${keyPrefix(redis)}waymark:link-tests:until`;

  /**
   * Completes the tests that have ended since the last run.
   *
   * @param leaseLost aborts when another writer may complete them: the rest is left to it
   * @throws the error of a store that ended the run
   */
  async function complete(leaseLost: AbortSignal): Promise<void> {
    const stored = await redis.get(cursorKey);
    const untilMs = now() - WRITE_DELAY_MS;
    const isUsable = stored !== null && Number(stored) <= untilMs + CLOCKS_DIFFER_MS_MAX;
    const fromMs = isUsable ? Number(stored) : untilMs - LOOKBACK_MS;
    const within = { fromMs, untilMs, untouchedOnly: !isUsable, random };
    const report = async (link: LinkRecord) => {
      logger.info({ linkId: link.id }, 'an A/B test of a link is complete');
      await onChanged(link);
    };
    const { failed, endedBy } = await catalog.abTests.complete(within, { leaseLost, onChanged: report });
    for (const { linkId, err } of failed)
      logger.error({ err, linkId }, 'an A/B test of a link could not be completed; retrying in a minute');
    if (endedBy !== undefined) throw endedBy;
    if (!leaseLost.aborted) await redis.set(cursorKey, String(Math.max(fromMs, untilMs)));
  }

  async function completeUnderLease(): Promise<void> {
    const lease = await takeLease(redis, 'link-tests:turn');
    await lease?.during(complete);
  }

  return startPeriodicTask(completeUnderLease, {
    intervalMs: options.intervalMs ?? INTERVAL_MS,
    onError: (err) => logger.error({ err }, 'A/B tests of links could not be completed; retrying in a minute'),
  });
}
