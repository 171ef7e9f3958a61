import { eventsStreamQuerySchema } from '@waymark/contract';
import { withApi } from '../api/api-access.js';
import { InterruptedError } from '../command-error.js';
import { interruptible } from '../interruptible.js';
import { optionalText, type RawOption } from '../option-values.js';
import { escapeControls, printStatus } from '../output.js';
import { standardOutput } from '../standard-output.js';
import { followEvents } from '../tail/follow-events.js';

/** The parameters of `GET /events/stream`, and the options of the command itself. */
export type TailOptions = Readonly<Record<string, RawOption>>;

function streamPath(options: TailOptions): string {
  const parameters = Object.keys(eventsStreamQuerySchema.out.shape).flatMap((name): [string, string][] => {
    const value = optionalText(name, options[name]);
    return value === undefined ? [] : [[name, value]];
  });
  return `/events/stream?${new URLSearchParams(parameters)}`;
}

/**
 * Prints events as they are stored, a line of JSON each, until it is interrupted or the reader of its output closes it. Everything else
 * goes to standard error.
 *
 * @throws CommandError when its output cannot be written
 */
export async function tailEvents(options: TailOptions): Promise<undefined> {
  const path = streamPath(options);
  try {
    await interruptible('interrupted', (signal) => {
      const output = standardOutput(signal);
      const onEvent = (json: string) => output.write(Buffer.from(`${escapeControls(json)}\n`));
      const access = {
        name: 'Tail',
        scope: 'analytics.read',
        signal,
        giveUpAfterMs: Number.POSITIVE_INFINITY,
      } as const;
      return withApi(options, access, (api) => followEvents({ api, path, onEvent, onStatus: printStatus, signal }));
    });
  } catch (err) {
    // Only an interruption ends the command normally.
    if (!(err instanceof InterruptedError)) throw err;
  }
  return undefined;
}
