import { InterruptedError } from './command-error.js';
import { outputError } from './standard-output.js';

/** SIGHUP is that of a terminal or an SSH connection that closes. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs work whose signal is aborted by the first SIGINT, SIGTERM or SIGHUP, and when standard output cannot be written. The same signal once
 * more ends the process immediately.
 *
 * @param message of the InterruptedError that a SIGINT, SIGTERM or SIGHUP aborts the signal with
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
