import type { ExportScheduleRecord } from '@waymark/catalog';
import type { EventKind, ExportFormat } from '@waymark/contract';

type Location = Pick<ExportScheduleRecord, 'id' | 'exportedUntil'> & {
  readonly destination: Pick<ExportScheduleRecord['destination'], 'prefix'>;
};

const NUMBER_DIGITS = 5;

function inFolder(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}/${name}`;
}

/**
 * The key of an object of the next window: `<prefix>/<schedule>/<start>/<name>`, with the hour at which the window starts. The same window
 * always has the same keys, and schedules never share one.
 */
export function windowKey({ id, exportedUntil, destination }: Location, name: string): string {
  const hour = exportedUntil.slice(0, '2026-01-01T00'.length);
  return inFolder(destination.prefix, `${id}/${hour}/${name}`);
}

/** Name of the nth file of a window, counted from 1, such as `clicks-00001.csv`. */
export function partName(event: EventKind, number: number, format: ExportFormat): string {
  return `${event}-${String(number).padStart(NUMBER_DIGITS, '0')}.${format}`;
}

export const MANIFEST_NAME = 'manifest.json';

/** The key of the object that shows, when a schedule is saved, that the storage accepts its uploads. */
export function testKey(prefix: string): string {
  return inFolder(prefix, 'waymark-test.txt');
}
