import { setImmediate as nextTurn } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import { createLogger, type Logger } from './logger.js';

/** A running service. */
export interface Service {
  /** Closes the parts of the service in order. */
  close(): Promise<void>;
}

export interface RunServiceOptions {
  readonly logger?: Logger;
  /** How long a stop may take before the process exits anyway. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 25_000;
/** Signals of one stop: Ctrl-C under `npm run` delivers two, from the terminal and from npm. A third one ends the process at once. */
const SIGNALS_PER_STOP = 2;
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
 * Runs a service until a signal, the exit of the parent process that forked it, or an uncaught error, which is fatal. A stop during
 * start-up waits until start-up has finished. A forked process sends `{ready: true}` to its parent once it has started.
 */
export async function runService(start: () => Promise<Service>, options: RunServiceOptions = {}): Promise<void> {
  const { logger = createLogger({ name: 'waymark' }), deadlineMs = DEADLINE_MS } = options;
  const isForked = process.send !== undefined;
  let starting: Promise<Service> | undefined;
  let stopRequests = 0;

  const grace = closeWithGrace({ delay: deadlineMs, logger, skip: [...SIGNALS] }, async ({ err }) => {
    stopRequests = Math.max(stopRequests, 1);
    if (err !== undefined) logger.fatal({ err }, 'stopping after an uncaught error');
    await (await starting)?.close();
    logger.info('stopped');
  });

  const stop = (reason: string) => {
    stopRequests += 1;
    if (stopRequests > SIGNALS_PER_STOP) {
      logger.error({ reason }, 'another stop signal: exiting immediately');
      process.exit(1);
    }
    if (stopRequests > 1) return;
    logger.info({ reason }, 'stopping');
    void grace.close();
  };

  for (const signal of SIGNALS) {
    // Ctrl-C reaches the whole process group; children ignore it because the parent stops them in order.
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !isForked) stop(signal);
    });
  }
  if (isForked) {
    process.once('disconnect', () => stop('parent gone'));
    // If the parent ended while this process was loading, `disconnect` was emitted already, or is emitted in the next turn of the event loop:
    // Node 22 and 24 load modules without a turn of the event loop.
    await nextTurn();
    if (stopRequests > 0) return;
    if (!process.connected) return stop('parent gone');
  }

  starting = startOrExit(start, logger);
  await starting;
  // The parent may have exited by the time the message is sent; the `disconnect` handler above covers that.
  if (isForked && process.connected) process.send?.({ ready: true }, undefined, undefined, () => {});
}
