import {
  type Catalog,
  type ExportScheduleRecord,
  HEALTHY_SCHEDULE,
  type KeyCaller,
  linkVisibility,
} from '@waymark/catalog';
import {
  type CreateExportScheduleBody,
  type ExportDestination,
  fieldError,
  type UpdateExportScheduleBody,
} from '@waymark/contract';
import { testKey } from './object-keys.js';
import type { OpenWindow } from './schedule-source.js';
import type { OpenStorage } from './storage.js';
import { StorageError } from './storage-error.js';
import { windowStartAt, windowsBetween } from './windows.js';

export interface SaveScheduleDeps {
  readonly catalog: Catalog;
  readonly openWindow: OpenWindow;
  readonly openStorage: OpenStorage;
  readonly now: () => number;
}

/** How many past windows a new schedule may export: the hours of six weeks, the days of almost three years. */
const WINDOWS_BACK_MAX = 1000;
/** Rows of a file by default: 60 MB of CSV. After a kill, one file at most is written again. */
const ROWS_PER_FILE = 200_000;
const TEST_MS_MAX = 20_000;
const TEST_OBJECT = { text: 'Waymark can write here.\n', mediaType: 'text/plain' } as const;
const HINT_CHARS = 4;
const HINT_CHARS_HIDDEN_MIN = 4;

type Stored = ExportScheduleRecord['destination'];

/** The last characters of an access key id; none if the id is so short that they would reveal most of it. */
function hintOf(accessKeyId: string): string {
  return accessKeyId.length < HINT_CHARS + HINT_CHARS_HIDDEN_MIN ? '…' : `…${accessKeyId.slice(-HINT_CHARS)}`;
}

function storedDestination({ type, endpoint, region, bucket, prefix = '', ...more }: ExportDestination): Stored {
  const { accessKeyId, forcePathStyle = endpoint !== undefined } = more;
  const accessKeyHint = hintOf(accessKeyId);
  return { type, endpoint: endpoint ?? null, region, bucket, prefix, forcePathStyle, accessKeyHint };
}

/** Whether two destinations have the same objects under the same keys. */
function isSamePlace(one: Stored, other: Stored): boolean {
  return one.endpoint === other.endpoint && one.bucket === other.bucket && one.prefix === other.prefix;
}

/** Creates the functions that check and store export schedules. */
export function createScheduleSaver({ catalog, openWindow, openStorage, now }: SaveScheduleDeps) {
  const { exportSchedules } = catalog;

  /** Uploads a small object. @throws ApiError 422 with the reason of the storage */
  async function checkStorage(destination: ExportDestination): Promise<Stored> {
    const stored = storedDestination(destination);
    try {
      const storage = await openStorage(stored, destination);
      await storage.put(testKey(stored.prefix), TEST_OBJECT, AbortSignal.timeout(TEST_MS_MAX));
    } catch (err) {
      if (!(err instanceof StorageError)) throw err;
      throw fieldError('invalid_value', 'destination', `a test upload has failed: ${err.reason}`);
    }
    return stored;
  }

  /** Checks that the key may export this. @throws ApiError as `openWindow` does */
  async function checkRequest(caller: KeyCaller, request: Pick<ExportScheduleRecord, 'columns' | 'filters'>) {
    await openWindow(caller, request, { fromMs: 0, toMs: now() });
  }

  /** The start of the first window of a new schedule, or of one that continues elsewhere. @throws ApiError 422 when `since` is in the future or too long ago */
  function firstWindow({ frequency, since }: Pick<CreateExportScheduleBody, 'frequency' | 'since'>): string {
    const sinceMs = since === undefined ? now() : Date.parse(since);
    if (sinceMs > now()) throw fieldError('too_big', 'since', 'must not be in the future');
    const startMs = windowStartAt(frequency, sinceMs);
    if (windowsBetween(frequency, startMs, now()) > WINDOWS_BACK_MAX) {
      throw fieldError('too_small', 'since', `must be at most ${WINDOWS_BACK_MAX} ${frequency} exports back`);
    }
    return new Date(startMs).toISOString();
  }

  /**
   * Where a schedule that is being changed continues. One that was restored from a backup, when it is enabled again, does not export windows
   * before the current one: the installation that the backup was made of may have exported them.
   */
  function continuation(
    before: ExportScheduleRecord,
    { frequency = before.frequency, since, disabled }: UpdateExportScheduleBody,
  ): Partial<Pick<ExportScheduleRecord, 'exportedUntil' | 'isRestored'>> {
    if (since !== undefined) return { exportedUntil: firstWindow({ frequency, since }), isRestored: false };
    if (before.isRestored !== true || disabled !== false) return {};
    const [, later = ''] = [firstWindow({ frequency }), before.exportedUntil].sort();
    return { exportedUntil: later, isRestored: false };
  }

  return {
    /** Creates a schedule, after a test upload to its storage. @throws ApiError 403, also when the workspace has used up its events, 404 or 422 */
    async create(caller: KeyCaller, body: CreateExportScheduleBody): Promise<ExportScheduleRecord> {
      const { apiKey, workspace } = caller;
      const { resource, frequency, format = 'csv', columns = null, escapeFormulas = true, filters = {} } = body;
      const { rowsPerFile = ROWS_PER_FILE } = body;
      const request = { resource, frequency, format, columns, escapeFormulas, rowsPerFile, filters };
      const exportedUntil = firstWindow(body);
      await catalog.eventUsage.check(workspace);
      await checkRequest(caller, request);
      return exportSchedules.create(workspace.id, {
        ...request,
        destination: await checkStorage(body.destination),
        exportedUntil,
        encryptedCredentials: exportSchedules.seal(workspace.id, body.destination),
        keyId: apiKey.id,
        ...linkVisibility(apiKey),
      });
    },

    /**
     * Changes a schedule, which has the permissions of the caller's key from then on. A window that was begun begins again, unless its
     * manifest may be in the storage already, or the schedule continues elsewhere. A schedule can be disabled, and a disabled one be changed,
     * although a record that its filter names was removed: this is checked when it is enabled, or its filters or columns change. Whether the
     * workspace has used up its events is checked by each window.
     *
     * @throws ApiError 403, 404 or 422
     */
    async update(caller: KeyCaller, id: string, body: UpdateExportScheduleBody): Promise<ExportScheduleRecord> {
      const { apiKey, workspace } = caller;
      const { destination, disabled, since: _since, ...fields } = body;
      const before = await exportSchedules.require(workspace.id, id);
      const { columns = before.columns, filters = before.filters } = fields;
      const isEnabled = disabled === undefined ? before.disabledAt === null : !disabled;
      const selectsAnew = fields.columns !== undefined || fields.filters !== undefined;
      if (isEnabled || selectsAnew) await checkRequest(caller, { columns, filters });
      continuation(before, body);
      const place = destination === undefined ? undefined : await checkStorage(destination);
      return exportSchedules.update(workspace.id, id, (current) => {
        const isDisabled = disabled ?? current.disabledAt !== null;
        const continued = continuation(current, body);
        const isKept =
          continued.exportedUntil === undefined &&
          current.run?.manifest != null &&
          isSamePlace(place ?? current.destination, current.destination);
        return {
          ...fields,
          ...continued,
          ...(place === undefined ? {} : { destination: place }),
          ...(destination === undefined
            ? {}
            : { encryptedCredentials: exportSchedules.seal(workspace.id, destination) }),
          keyId: apiKey.id,
          ...linkVisibility(apiKey),
          run: isKept ? current.run : null,
          attempt: current.attempt + 1,
          ...HEALTHY_SCHEDULE,
          disabledAt: isDisabled ? (current.disabledAt ?? new Date(now()).toISOString()) : null,
          disabledReason: !isDisabled ? null : (current.disabledReason ?? 'It was disabled by a request.'),
        };
      });
    },
  };
}
export type ScheduleSaver = ReturnType<typeof createScheduleSaver>;
