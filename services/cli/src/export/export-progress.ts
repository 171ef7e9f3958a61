import { clearLine, cursorTo } from 'node:readline';
import { megabytes } from '../move/progress.js';
import { printMessage } from '../output.js';

const EVERY_MS = 200;

/** The progress of an export. The export updates its fields. */
export interface ExportCounts {
  rows: number;
  bytes: number;
  /** What is being done, such as `downloading`. */
  phase: string;
}

function textOf({ rows, bytes, phase }: ExportCounts, seconds: number): string {
  if (rows === 0 && bytes === 0) return phase;
  const of =
    rows === 0 ? '' : `${rows.toLocaleString('en')} rows, ${Math.round(rows / seconds).toLocaleString('en')}/s, `;
  return `${phase}: ${of}${megabytes(bytes)}`;
}

/** See {@link showExportProgress}. */
export interface ExportProgress {
  readonly counts: ExportCounts;
  /** Prints a message on a line of its own. */
  say(text: string): void;
  /** Seconds since the start. */
  seconds(): number;
  /** Removes the progress from the terminal. */
  stop(): void;
}

/** Shows rows, speed and size on standard error while an export runs. If standard error is no terminal, only messages are printed. */
export function showExportProgress(): ExportProgress {
  const out = process.stderr;
  const startedMs = performance.now();
  const seconds = () => (performance.now() - startedMs) / 1000;
  const counts: ExportCounts = { rows: 0, bytes: 0, phase: 'waiting' };
  const clear = () => {
    if (!out.isTTY) return;
    cursorTo(out, 0);
    clearLine(out, 0);
  };
  const draw = () => {
    clear();
    out.write(textOf(counts, seconds()));
  };
  const timer = out.isTTY ? setInterval(draw, EVERY_MS) : undefined;
  return {
    counts,
    say(text) {
      clear();
      printMessage(`waymark: ${text}`);
    },
    seconds,
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}
