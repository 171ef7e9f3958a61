import { eventsStreamQuerySchema } from '@waymark/contract';
import { apiUrl, createTemporaryKeys } from '../api-access.js';
import { CommandError } from '../command-error.js';
import { optionalText, type RawOption } from '../option-values.js';
import { escapeControls, printMessage } from '../output.js';
import { standardOutput } from '../standard-output.js';
import { followEvents } from '../tail/follow-events.js';

/** The parameters of `GET /events/stream`, and the options of the command itself. */
export type TailOptions = Readonly<Record<string, RawOption>>;

function streamUrl(options: TailOptions): string {
  const parameters = Object.keys(eventsStreamQuerySchema.out.shape).flatMap((name): [string, string][] => {
    const value = optionalText(name, options[name]);
    return value === undefined ? [] : [[name, value]];
  });
  return `${apiUrl(options.api)}/events/stream?${new URLSearchParams(parameters)}`;
}

/**
 * Prints events as they are stored, a line of JSON each, until it is interrupted or the reader of its output closes it. Everything else
 * goes to standard error.
 *
 * @throws CommandError when its output cannot be written
 */
export async function tailEvents(options: TailOptions): Promise<undefined> {
  const url = streamUrl(options);
  const onStatus = (text: string) => printMessage(`waymark: ${text}`);
  const keys = createTemporaryKeys(options.workspace, 'Tail', 'analytics.read', onStatus);
  const stop = new AbortController();
  const onEnd = () => stop.abort();
  let failure: CommandError | undefined;
  const onOutputError = ({ code, message }: NodeJS.ErrnoException) => {
    // EPIPE is no error: the program that reads the output, such as `head`, has ended.
    if (code !== 'EPIPE') failure = new CommandError(`standard output: ${message}`);
    stop.abort();
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, onEnd);
  process.stdout.on('error', onOutputError);
  const output = standardOutput(stop.signal);
  try {
    await followEvents({
      ...{ url, newKey: keys.newKey, onStatus, signal: stop.signal },
      onEvent: (json) => output.write(Buffer.from(`${escapeControls(json)}\n`)),
    });
  } finally {
    for (const signal of signals) process.off(signal, onEnd);
    process.stdout.off('error', onOutputError);
    await keys.revokeAll();
  }
  if (failure !== undefined) throw failure;
  return undefined;
}
