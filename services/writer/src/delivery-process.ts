import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { endChild } from '@waymark/config';
import type { Logger } from '@waymark/http-kit';

/** The child process that delivers to webhooks. */
export interface DeliveryProcess {
  /** Stops the process. Attempts in progress are finished; the remaining jobs return to the queue. */
  close(): Promise<void>;
}

export interface DeliveryProcessOptions {
  /** Whether the queue of deliveries has ever had a job. */
  readonly isNeeded: () => Promise<boolean>;
  readonly logger: Pick<Logger, 'debug' | 'error'>;
  /** Time limit of `close`. */
  readonly closeMs: number;
}

/** Interval of the checks whether there has been a job. */
const CHECK_MS = 3000;
const RESTART_MS = 1000;
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './delivery-main.ts' : './delivery-main.js', import.meta.url);

/**
 * Starts the process that sends webhook deliveries, with the environment of this process, and restarts it when it ends. A process of its
 * own keeps thousands of requests a second from delaying inserts, and has a lower priority. It is started once a job has been added, so
 * that an installation without webhooks does not spend memory on it.
 */
export function startDeliveryProcess({ isNeeded, logger, closeMs }: DeliveryProcessOptions): DeliveryProcess {
  const closing = new AbortController();
  const { signal } = closing;
  let child: ChildProcess | undefined;

  async function restart(): Promise<void> {
    await delay(RESTART_MS, undefined, { signal }).then(start, () => undefined);
  }

  function start(): void {
    const started = fork(fileURLToPath(ENTRY), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child = started;
    started.on('error', (err) => {
      logger.error({ err }, 'the process of webhook deliveries failed');
      // A process that could not be spawned has no pid, and does not emit `exit`.
      if (started.pid === undefined) void restart();
    });
    started.on('exit', (code, exitSignal) => {
      if (signal.aborted) return;
      logger.error({ code, signal: exitSignal }, 'the process of webhook deliveries has ended; restarting it');
      void restart();
    });
  }

  async function startWhenNeeded(): Promise<void> {
    while (!signal.aborted) {
      const shouldStart = await isNeeded().catch((err: unknown) => {
        logger.debug({ err }, 'the webhook queue could not be read; retrying');
        return false;
      });
      if (shouldStart && !signal.aborted) return start();
      await delay(CHECK_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  void startWhenNeeded();

  return {
    async close() {
      closing.abort();
      if (child !== undefined) await endChild(child, closeMs);
    },
  };
}
