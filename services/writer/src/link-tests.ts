import type { Catalog, LinkRecord, Stores } from '@waymark/catalog';
import type { Logger } from '@waymark/http-kit';

export interface LinkTestsOptions {
  readonly catalog: Pick<Catalog, 'linkTests'>;
  readonly redis: Pick<Stores['redis'], 'get' | 'set'>;
  /** Told of every link whose destination has changed; does not reject. */
  readonly onChanged: (link: LinkRecord) => Promise<void>;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly intervalMs?: number;
}

export interface LinkTests {
  /** Looks once, unless another writer does. Never rejects. */
  run(): Promise<void>;
  close(): Promise<void>;
}

const INTERVAL_MS = 60_000;
/** Leads of the test's last moments must have been written before they are counted. */
const SETTLING_MS = 60_000;
/** Up to when tests were ended: later runs go on from there. */
const MARK = 'waymark:link-tests:until';
const TURN = 'waymark:link-tests:turn';
const TURN_MS = 50_000;
/** Without a mark (the first run, or a Redis that lost it) tests are looked for from so long ago. */
const LOOK_BACK_MS = 7 * 86_400_000;

/** Ends A/B tests of links when their time has come. One writer at a time does it. */
export function startLinkTests(options: LinkTestsOptions): LinkTests {
  const { catalog, redis, onChanged, logger, now = Date.now, random = Math.random } = options;
  let running: Promise<void> | undefined;

  async function complete(): Promise<void> {
    if ((await redis.set(TURN, '1', 'PX', TURN_MS, 'NX')) === null) return;
    const mark = await redis.get(MARK);
    const untilMs = now() - SETTLING_MS;
    const fromMs = mark === null ? untilMs - LOOK_BACK_MS : Number(mark);
    const changed = await catalog.linkTests.complete({ fromMs, untilMs, untouchedOnly: mark === null, random });
    for (const link of changed) {
      logger.info({ linkId: link.id, url: link.url }, 'a test has ended');
      await onChanged(link);
    }
    await redis.set(MARK, String(Math.max(fromMs, untilMs)));
  }

  const run = (): Promise<void> => {
    running ??= complete()
      .catch((err: unknown) => logger.error({ err }, 'tests of links could not be ended; tried again in a minute'))
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
