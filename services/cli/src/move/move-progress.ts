import type { MoveProgress } from '@waymark/clickhouse';
import { megabytes } from '../output.js';
import type { Progress } from '../progress.js';

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min` : `${Math.ceil(seconds)} s`;
}

/** The progress of a move: what has been copied, the speed, and the time left at that speed. @param seconds since the start */
export function moveProgress(move: MoveProgress | undefined, seconds: number): Progress {
  if (move === undefined) return { share: 0, text: 'preparing' };
  const { table, rows, bytes, totalBytes, copiedBytes } = move;
  const bytesPerSecond = copiedBytes / seconds;
  const left = copiedBytes === 0 ? '' : `, ${duration(Math.max(0, totalBytes - bytes) / bytesPerSecond)} left`;
  return {
    share: bytes / Math.max(1, totalBytes),
    text: `${table}: ${rows} rows, ${megabytes(bytes)} of ${megabytes(totalBytes)}, ${megabytes(bytesPerSecond)}/s${left}`,
  };
}
