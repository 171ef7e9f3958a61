import type { MoveProgress } from '@waymark/clickhouse';
import { printMessage } from '../output.js';
import { startProgressBar } from '../progress-bar.js';

/** Interval of progress lines if standard error is no terminal. */
const LINE_EVERY_MS = 10_000;

/** Formats bytes as megabytes of a million bytes. */
export const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`;

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.ceil(seconds)} s`;
}

/** The progress of a move in one line: what has been copied, the speed, and the time left at that speed. @param seconds since the start */
export function progressText({ table, rows, bytes, totalBytes, copiedBytes }: MoveProgress, seconds: number): string {
  const bytesPerSecond = copiedBytes / seconds;
  const left = copiedBytes === 0 ? '' : `, ${duration(Math.max(0, totalBytes - bytes) / bytesPerSecond)} left`;
  return `${table}: ${rows} rows, ${megabytes(bytes)} of ${megabytes(totalBytes)}, ${megabytes(bytesPerSecond)}/s${left}`;
}

/** Shows the progress of a move on standard error: a bar in a terminal, else a line every ten seconds. */
export function showProgress() {
  const startedMs = performance.now();
  const text = (of: MoveProgress) => progressText(of, (performance.now() - startedMs) / 1000);
  let latest: MoveProgress | undefined;
  let printedMs = startedMs;
  const bar = startProgressBar(() =>
    latest === undefined
      ? { share: 0, text: 'preparing' }
      : { share: latest.bytes / Math.max(1, latest.totalBytes), text: text(latest) },
  );
  return {
    note(progress: MoveProgress) {
      latest = progress;
      if (process.stderr.isTTY || performance.now() - printedMs < LINE_EVERY_MS) return;
      printedMs = performance.now();
      printMessage(text(progress));
    },
    stop: () => bar.stop(),
    seconds: () => (performance.now() - startedMs) / 1000,
  };
}
