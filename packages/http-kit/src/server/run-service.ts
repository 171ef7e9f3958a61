import closeWithGrace from 'close-with-grace';
import { createLogger, type Logger } from './logger.js';

/** What a started process can be asked to do: stop, in its own order. */
export interface Service {
  close(): Promise<void>;
}

export interface RunServiceOptions {
  readonly logger?: Logger;
  /** Whatever has not stopped by then is cut off. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 25_000;
/** Ctrl-C under `npm run` arrives twice, from the terminal and from npm: the second is the same wish. */
const SIGNALS_OF_ONE_WISH = 2;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

async function startOrExit(start: () => Promise<Service>, logger: Logger): Promise<Service> {
  try {
    return await start();
  } catch (err) {
    const reason = err instanceof Error ? err.message : String(err);
    logger.fatal({ err }, `could not start: ${reason}`);
    process.exit(1);
  }
}

/**
 * Runs a service until it is told to stop: by a signal, by the end of the parent that forked it, or by an error that
 * nobody caught, which is fatal. A stop that comes during the start waits for it. A parent that forked it is told
 * `{ready: true}` once the start is through.
 */
export async function runService(start: () => Promise<Service>, options: RunServiceOptions = {}): Promise<void> {
  const { logger = createLogger({ name: 'waymark' }), deadlineMs = DEADLINE_MS } = options;
  const isForked = process.send !== undefined;
  let starting: Promise<Service> | undefined;
  let wishes = 0;

  const grace = closeWithGrace({ delay: deadlineMs, logger, skip: [...SIGNALS] }, async ({ err }) => {
    wishes = Math.max(wishes, 1);
    if (err !== undefined) logger.fatal({ err }, 'stopping after an error that nobody caught');
    await (await starting)?.close();
    logger.info('stopped');
  });

  const stop = (reason: string) => {
    wishes += 1;
    if (wishes > SIGNALS_OF_ONE_WISH) {
      logger.error({ reason }, 'asked to stop again: leaving at once');
      process.exit(1);
    }
    if (wishes > 1) return;
    logger.info({ reason }, 'stopping');
    void grace.close();
  };

  for (const signal of SIGNALS) {
    // Ctrl-C reaches the whole process group; the order in which children stop is their parent's to decide.
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !isForked) stop(signal);
    });
  }
  if (isForked) process.once('disconnect', () => stop('parent gone'));
  // A parent that was killed while this process loaded its code will not be heard of any more.
  if (isForked && !process.connected) return stop('parent gone');

  starting = startOrExit(start, logger);
  await starting;
  // The parent may be gone by the time the word is sent; its end is dealt with above.
  if (isForked && process.connected) process.send?.({ ready: true }, undefined, undefined, () => {});
}
