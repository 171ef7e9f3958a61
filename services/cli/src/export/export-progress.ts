import { clearLine, cursorTo } from 'node:readline';
import { megabytes } from '../move/progress.js';

const EVERY_MS = 200;

/** How far an export has come. */
export interface ExportCounts {
  rows: number;
  bytes: number;
  /** What runs, when there is nothing to count yet. */
  phase: string;
}

function textOf({ rows, bytes, phase }: ExportCounts, seconds: number): string {
  if (rows === 0 && bytes === 0) return phase;
  const of =
    rows === 0 ? '' : `${rows.toLocaleString('en')} rows, ${Math.round(rows / seconds).toLocaleString('en')}/s, `;
  return `${phase}: ${of}${megabytes(bytes)}`;
}

export interface ExportProgress {
  readonly counts: ExportCounts;
  /** Prints a line about something that happened. */
  say(text: string): void;
  seconds(): number;
  stop(): void;
}

/** Shows rows, speed and size on standard error while an export runs; nothing but messages unless it is a terminal. */
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
      console.error(`waymark: ${text}`);
    },
    seconds,
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}
