import { createHash } from 'node:crypto';
import { setImmediate as immediate } from 'node:timers/promises';
import { type Catalog, type ExportScheduleRecord, HEALTHY_SCHEDULE, type ScheduledFile } from '@waymark/catalog';
import { type EventKind, type ExportManifest, ROWS_PER_FILE_MAX } from '@waymark/contract';
import { createEncoder, MEDIA_TYPES } from '@waymark/export';
import { JobStopped } from '@waymark/jobs';
import { createItemReader, type ItemReader } from './item-reader.js';
import { MANIFEST_NAME, partName, windowKey } from './object-keys.js';
import { scheduleCaller } from './schedule-access.js';
import type { OpenedWindow, OpenWindow } from './schedule-source.js';
import type { OpenStorage, Storage } from './storage.js';
import { nextWindow } from './windows.js';

export interface RunWindowDeps {
  readonly catalog: Catalog;
  readonly openWindow: OpenWindow;
  readonly openStorage: OpenStorage;
  readonly now: () => number;
}

/** An attempt ends with the first file that is uploaded after this time, so that other workspaces have their turn. */
const ATTEMPT_MS = 2 * 60_000;
/** Files of a window after which the next ones become larger. */
const FILES_BEFORE_LARGER = 100;
/** Rows that are encoded at a time, before other requests have their turn. */
const SLICE_ROWS = 100;

type Run = NonNullable<ExportScheduleRecord['run']>;
type Change = Partial<Pick<ExportScheduleRecord, 'run' | 'exportedUntil' | 'lastWindow' | 'unreported'>>;

/** The id of an event, from its JSON text. */
function eventIdOf(kind: EventKind, item: string): string {
  const event = JSON.parse(item) as { readonly eventId: string; readonly click: { readonly id: string } };
  return kind === 'clicks' ? event.click.id : event.eventId;
}

const sumOf = (files: readonly ScheduledFile[], field: 'rows' | 'bytes'): number =>
  files.reduce((total, file) => total + file[field], 0);

/**
 * The most rows of the next file of a window: `rowsPerFile`, or a hundredth of the rows of the files before if that is more. The schedule's
 * record has all files of the window, and is written after each one, so their number must not grow with the events: ten million of them
 * have 560 files instead of 10,000 of a thousand rows. Only the recorded files decide, so a file that is written again has the same rows.
 */
function rowsOfNextFile({ rowsPerFile }: ExportScheduleRecord, files: readonly ScheduledFile[]): number {
  const share = Math.floor(sumOf(files, 'rows') / FILES_BEFORE_LARGER);
  return Math.max(rowsPerFile, Math.min(share, ROWS_PER_FILE_MAX));
}

/** The text of the manifest that lists the files of a window (docs/reference/exports.md). */
function manifestOf(schedule: ExportScheduleRecord, event: EventKind, files: readonly ScheduledFile[]): string {
  const { id: scheduleId, resource, format, columns, filters } = schedule;
  const manifest: ExportManifest = {
    version: 1,
    scheduleId,
    resource,
    event,
    format,
    columns,
    filters,
    window: nextWindow(schedule),
    rows: sumOf(files, 'rows'),
    bytes: sumOf(files, 'bytes'),
    files: files.map(({ name, ...file }) => ({ key: windowKey(schedule, name), ...file })),
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/**
 * Exports the next window. Uploads its files, records each in the schedule once it is in the storage, and uploads the manifest last. Files
 * that an earlier attempt has recorded are kept, and no file is uploaded any more once the manifest may be in the storage. Ends early, after a
 * file, when it takes long: then it must be called again for the rest.
 *
 * @throws JobStopped when the schedule was changed or another attempt has begun; StorageError; the reason of `signal`; what reads throw
 */
export async function runWindow(deps: RunWindowDeps, begun: ExportScheduleRecord, signal: AbortSignal): Promise<void> {
  const { catalog, openWindow, openStorage, now } = deps;
  const { exportSchedules } = catalog;
  const { workspaceId, id, attempt, format, escapeFormulas: escapesFormulas } = begun;
  const window = nextWindow(begun);
  const startedMs = now();

  /** Changes the schedule's record. @throws JobStopped when the schedule was changed or another attempt has begun */
  async function record(change: Change): Promise<ExportScheduleRecord> {
    signal.throwIfAborted();
    return exportSchedules.update(workspaceId, id, (current) => {
      if (current.attempt !== attempt || current.disabledAt !== null) throw new JobStopped();
      return { ...change, ...HEALTHY_SCHEDULE };
    });
  }

  /** Uploads a file with the next events, at most `rowsMax`. @returns the file, and the id of its last event */
  async function uploadFile(
    storage: Storage,
    { kind, columns }: OpenedWindow,
    reader: ItemReader,
    { name, rowsMax }: { readonly name: string; readonly rowsMax: number },
  ): Promise<{ readonly file: ScheduledFile; readonly lastId: string }> {
    const hash = createHash('sha256');
    const file = { rows: 0, bytes: 0 };
    let last = '';
    async function* encoded(): AsyncGenerator<Uint8Array> {
      const encoder = createEncoder({ format, columns, escapesFormulas, isContinuation: false });
      const counted = (bytes: Uint8Array) => {
        hash.update(bytes);
        file.bytes += bytes.length;
        return bytes;
      };
      while (file.rows < rowsMax && !(await reader.isAtEnd())) {
        const items = await reader.take(Math.min(SLICE_ROWS, rowsMax - file.rows));
        file.rows += items.length;
        last = items.at(-1) ?? last;
        yield counted(encoder.encode(items));
        await immediate();
      }
      for (const bytes of encoder.end()) {
        yield counted(bytes);
        await immediate();
      }
    }
    const object = { bytes: encoded(), mediaType: MEDIA_TYPES[format] };
    await storage.upload(windowKey(begun, name), object, signal);
    return { file: { name, ...file, sha256: hash.digest('hex') }, lastId: eventIdOf(kind, last) };
  }

  /** Uploads the files that are missing, and records the text of the manifest. @returns the complete run; undefined when it ends early */
  async function completeFiles(storage: Storage): Promise<(Run & { readonly manifest: string }) | undefined> {
    const caller = await scheduleCaller(catalog, begun, now());
    const begunRun: Run = begun.run ?? { end: window.end, files: [], lastId: null, manifest: null };
    if (begunRun.manifest !== null) return { ...begunRun, manifest: begunRun.manifest };
    const stored = { fromMs: Date.parse(window.start), toMs: Date.parse(window.end) };
    const opened = await openWindow(caller, begun, stored);
    const reader = createItemReader(opened.sourceFrom(begunRun.lastId, signal));
    let run = begunRun;
    while (!(await reader.isAtEnd())) {
      const next = {
        name: partName(opened.kind, run.files.length + 1, format),
        rowsMax: rowsOfNextFile(begun, run.files),
      };
      const { file, lastId } = await uploadFile(storage, opened, reader, next);
      run = { ...run, files: [...run.files, file], lastId };
      await record({ run });
      if (now() - startedMs >= ATTEMPT_MS) return undefined;
    }
    const completed = { ...run, manifest: manifestOf(begun, opened.kind, run.files) };
    await record({ run: completed });
    return completed;
  }

  const storage = await openStorage(begun.destination, exportSchedules.credentialsOf(begun));
  const completed = await completeFiles(storage);
  if (completed === undefined) return;
  const { files, manifest: text } = completed;
  const manifest = windowKey(begun, MANIFEST_NAME);
  await storage.put(manifest, { text, mediaType: 'application/json' }, signal);
  const { rows, bytes } = JSON.parse(text) as ExportManifest;
  const finishedAt = new Date(now()).toISOString();
  await record({
    exportedUntil: window.end,
    run: null,
    unreported: 'completed',
    lastWindow: { window, rows, bytes, files: files.length, manifest, finishedAt },
  });
}
