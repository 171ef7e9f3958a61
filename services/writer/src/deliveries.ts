import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@waymark/http-kit';

/** The child process that delivers to webhooks. */
export interface Deliveries {
  /** Stops the process. Attempts in progress are finished; the remaining events return to the queue. */
  close(): Promise<void>;
}

const RESTART_MS = 1000;

/**
 * Starts the deliveries in a process of their own, with this process's environment, and restarts it when it ends. There, thousands
 * of requests a second do not delay inserts, and a lower priority leaves the processor to the other processes.
 *
 * @param closeMs time limit of `close`
 */
export function startDeliveries(logger: Logger, closeMs: number): Deliveries {
  const entry = new URL(import.meta.url.endsWith('.ts') ? './delivery-main.ts' : './delivery-main.js', import.meta.url);
  let isClosing = false;
  let restart: NodeJS.Timeout | undefined;
  let child = start();

  function start(): ChildProcess {
    const started = fork(fileURLToPath(entry), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    started.on('error', (err) => logger.error({ err }, 'the process of webhook deliveries failed'));
    started.on('exit', (code, signal) => {
      if (isClosing) return;
      logger.error({ code, signal }, 'the process of webhook deliveries has ended; restarting it');
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
