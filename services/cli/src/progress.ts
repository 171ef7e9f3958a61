import { clearProgressLine, escapeControls, printMessage } from './output.js';

const BAR_CHARS = 32;
const DRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;

/** What is shown of a command that runs. */
export interface Progress {
  readonly text: string;
  /** What is done so far, from 0 to 1; shown as a bar. */
  readonly share?: number;
}

function lineOf({ text, share }: Progress): string {
  if (share === undefined) return text;
  const filled = Math.min(BAR_CHARS, Math.round(share * BAR_CHARS));
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_CHARS - filled)} ${text}`;
}

/** Draws over the last line of the terminal. A longer line would be wrapped, and the next one drawn over its end only. */
function draw(progress: Progress): void {
  const { columns } = process.stderr;
  clearProgressLine();
  process.stderr.write(escapeControls(lineOf(progress)).slice(0, columns > 0 ? columns - 1 : undefined));
}

/**
 * Runs `work` and shows its progress on standard error, because standard output is for the result: on a terminal in a line that is drawn
 * again and again, elsewhere not at all, or with `isLogged` with a line every ten seconds.
 *
 * @param read what to show so many seconds after the start
 */
export async function withProgress<T>(
  read: (seconds: number) => Progress,
  work: () => Promise<T>,
  { isLogged = false } = {},
): Promise<T> {
  const { isTTY } = process.stderr;
  const startedMs = performance.now();
  const current = () => read((performance.now() - startedMs) / 1000);
  let logged = read(0).text;
  const log = () => {
    const { text } = current();
    if (text !== logged) printMessage(text);
    logged = text;
  };
  const timers = [
    ...(isTTY ? [setInterval(() => draw(current()), DRAW_EVERY_MS)] : []),
    ...(isLogged && !isTTY ? [setInterval(log, LINE_EVERY_MS)] : []),
  ];
  try {
    return await work();
  } finally {
    for (const timer of timers) clearInterval(timer);
    if (isTTY) {
      draw(current());
      process.stderr.write('\n');
    }
  }
}
