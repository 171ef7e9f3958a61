import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@waymark/http-kit';

/** The process that delivers to webhooks. */
export interface Deliveries {
  /** Ends the attempts under way; what is left goes back into the queue. */
  close(): Promise<void>;
}

const RESTART_MS = 1000;

/**
 * Starts deliveries in a process of their own, with our environment, and keeps it running. What thousands of requests a second
 * to others cost delays no insert there, and on a busy machine it yields to everything else.
 *
 * @param closeMs the longest that `close` takes
 */
export function startDeliveries(logger: Logger, closeMs: number): Deliveries {
  const entry = new URL(import.meta.url.endsWith('.ts') ? './delivery-main.ts' : './delivery-main.js', import.meta.url);
  let isClosing = false;
  let restart: NodeJS.Timeout | undefined;
  let child = start();

  function start(): ChildProcess {
    const started = fork(fileURLToPath(entry), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    started.on('error', (err) => logger.error({ err }, 'deliveries to webhooks'));
    started.on('exit', (code, signal) => {
      if (isClosing) return;
      logger.error({ code, signal }, 'deliveries to webhooks have ended and are started again');
      restart = setTimeout(() => {
        child = start();
      }, RESTART_MS);
    });
    return started;
  }

  return {
    async close() {
      isClosing = true;
      clearTimeout(restart);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), closeMs);
      await ended;
      clearTimeout(late);
    },
  };
}
