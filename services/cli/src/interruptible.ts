import { InterruptedError } from './command-error.js';
import { outputError } from './standard-output.js';

/** The signals of which a second one ends the process. */
const ENDING = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs work whose signal is aborted by the first SIGINT, SIGTERM or SIGHUP, and when standard output cannot be written. SIGINT or SIGTERM once
 * more ends the process immediately. SIGHUP does not: a terminal or an SSH connection that closes sends it twice, by the shell and by the
 * kernel, and the caller may still be cleaning up.
 *
 * @param message of the InterruptedError that a SIGINT, SIGTERM or SIGHUP aborts the signal with
 */
export async function interruptible<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = () => stop.abort(new InterruptedError(message));
  const onOutputError = (err: Error) => stop.abort(outputError(err));
  for (const signal of ENDING) process.once(signal, onSignal);
  process.on('SIGHUP', onSignal);
  process.stdout.on('error', onOutputError);
  try {
    return await work(stop.signal);
  } finally {
    for (const signal of ENDING) process.off(signal, onSignal);
    if (!stop.signal.aborted) process.off('SIGHUP', onSignal);
    process.stdout.off('error', onOutputError);
  }
}
