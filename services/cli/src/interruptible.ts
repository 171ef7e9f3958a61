import { CommandError } from './command-error.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs work whose signal is aborted by the first SIGINT or SIGTERM; a second one ends the process immediately.
 *
 * @param message of the CommandError that the signal is aborted with
 */
export async function interruptible<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onEnd = () => stop.abort(new CommandError(message));
  for (const signal of SIGNALS) process.once(signal, onEnd);
  try {
    return await work(stop.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, onEnd);
  }
}
