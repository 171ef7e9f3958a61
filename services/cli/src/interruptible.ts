import { InterruptedError } from './command-error.js';
import { outputError } from './standard-output.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs work whose signal is aborted by the first SIGINT or SIGTERM, and when standard output cannot be written. A second SIGINT or SIGTERM
 * ends the process immediately.
 *
 * @param message of the InterruptedError that a SIGINT or SIGTERM aborts the signal with
 */
export async function interruptible<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = () => stop.abort(new InterruptedError(message));
  const onOutputError = (err: Error) => stop.abort(outputError(err));
  for (const signal of SIGNALS) process.once(signal, onSignal);
  process.stdout.on('error', onOutputError);
  try {
    return await work(stop.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    process.stdout.off('error', onOutputError);
  }
}
