import { setTimeout as delay, setImmediate as immediate, setInterval as interval } from 'node:timers/promises';
import type { Catalog, ImportJobRecord, KeyCaller } from '@waymark/catalog';
import { hasElapsed } from '@waymark/contract';
import {
  createReportLines,
  type ImportCounts,
  ImportError,
  importLinks,
  NO_COUNTS,
  NO_LINES,
  type OpenSource,
  openApi,
  openFile,
  orAborted,
  parseDomainMap,
  untilAborted,
} from '@waymark/import';
import { JobFailure, type JobSlot, JobStopped } from '@waymark/jobs';
import type { Outbound } from '@waymark/outbound';
import { importCaller } from './import-access.js';
import { importProgress } from './import-ends.js';
import type { Checkpoint, ImportFiles } from './import-files.js';
import { createSlotLending } from './slot-lending.js';

export interface RunImportDeps {
  readonly catalog: Catalog;
  readonly files: ImportFiles;
  readonly outbound: Outbound;
  /** The domain that every workspace may create links on. */
  readonly defaultDomain: string | undefined;
  /** The slot of this import. Other imports use it while this one waits for its source, which may take days. */
  readonly slot: Pick<JobSlot, 'lend'>;
  /** Called when rows are done that the next attempt would skip. */
  readonly onProgress: () => void;
  readonly now: () => number;
}

/** Rows that are read before other requests of the process run; one row has at most 101 links. */
const ROWS_AT_ONCE = 20;
/** While the import waits for its source or for a slot, or gets no rows, it checks at this interval whether it may continue. */
const CHECK_INTERVAL_MS = 2_000;
const DAY_MS = 24 * 3_600_000;
/** After this time an import fails. An import from a source that allows few requests per hour takes days. */
export const IMPORT_MS_MAX = 7 * DAY_MS;

/** Passes on the rows until the signal is aborted, and lets other requests of the process run in between. */
async function* yieldingRows<T>(rows: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  let read = 0;
  for await (const row of untilAborted(rows, signal)) {
    yield row;
    read++;
    if (read % ROWS_AT_ONCE === 0) await immediate();
  }
}

/**
 * Runs an import, from the last checkpoint of an earlier attempt on if there is one.
 *
 * @throws JobStopped when it was cancelled or another attempt has begun; JobFailure when it cannot continue; the reason of `signal`; errors
 * of stores
 */
export async function runImport(deps: RunImportDeps, job: ImportJobRecord, signal: AbortSignal): Promise<void> {
  const { catalog, files, outbound, now } = deps;
  const { workspaceId, id, attempt, directory, source, format } = job;

  const lending = createSlotLending(deps.slot, now);
  let checkedMs = 0;
  /** As of the latest check. */
  let caller: KeyCaller;
  const author: Pick<KeyCaller, 'workspace' | 'apiKey'> = {
    get workspace() {
      return caller.workspace;
    },
    get apiKey() {
      return caller.apiKey;
    },
  };

  /** @throws JobStopped; JobFailure after a week; ApiError when the key may not import any more */
  async function checkMayContinue(): Promise<void> {
    signal.throwIfAborted();
    const current = await catalog.importJobs.get(workspaceId, id);
    if (current?.status !== 'processing' || current.attempt !== attempt) throw new JobStopped();
    const beganMs = Date.parse(job.startedAt ?? job.createdAt);
    if (now() - beganMs > IMPORT_MS_MAX)
      throw new JobFailure(`The import did not end within ${IMPORT_MS_MAX / DAY_MS} days.`);
    caller = await importCaller(catalog, job, now());
    checkedMs = now();
  }

  /** Runs work that may wait long, for a source or a slot, and stops it when the import may not continue. @throws like `checkMayContinue` */
  async function whileChecked(work: (stopped: AbortSignal) => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const ended = new AbortController();
    async function check(): Promise<void> {
      for await (const _ of interval(CHECK_INTERVAL_MS, undefined, { signal: ended.signal })) await checkMayContinue();
    }
    check().catch((err: unknown) => stop.abort(err));
    try {
      await work(AbortSignal.any([signal, stop.signal]));
    } catch (err) {
      stop.signal.throwIfAborted();
      throw err;
    } finally {
      ended.abort();
    }
  }

  /** Waits as long as the source requires. @throws like `checkMayContinue` */
  async function wait(ms: number): Promise<void> {
    await whileChecked((stopped) => lending.during(ms, () => delay(ms, undefined, { signal: stopped }), stopped));
    await checkMayContinue();
  }

  /**
   * Offers the slot to other imports if this one has had it for a long time, and checks whether the import may continue, so that one whose source
   * answers without rows ends as well.
   *
   * @throws like `checkMayContinue`
   */
  async function beforeRequest(): Promise<void> {
    if (lending.isDue()) await whileChecked(lending.offer);
    if (hasElapsed(checkedMs, CHECK_INTERVAL_MS, now())) await checkMayContinue();
  }

  let bytesRead = 0;
  async function* counted(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytesRead += chunk.length;
      yield chunk;
    }
  }

  async function readCredential(): Promise<string> {
    const sealed = await files.readCredential(directory);
    if (sealed === undefined) throw new JobFailure('The credential of this import is not on this server.');
    try {
      return catalog.importJobs.unseal(sealed, directory);
    } catch {
      throw new JobFailure(
        'The credential of this import was encrypted with an instance key that is not in use any more.',
      );
    }
  }

  /** @param doneRows rows that an earlier attempt has stored */
  async function openSource(doneRows: number): Promise<OpenSource> {
    if (format !== null) {
      if (!(await files.hasSource(directory))) throw new JobFailure('The file of this import is not on this server.');
      return openFile(source, format, counted(files.readSource(directory)));
    }
    const credential = await readCredential();
    const { address, sourceWorkspace, history } = job;
    return openApi({
      source,
      address: address ?? undefined,
      credential,
      account: sourceWorkspace ?? undefined,
      readsCounts: history === 'counts',
      doneRows,
      outbound,
      beforeRequest,
      wait,
      now,
    });
  }

  await checkMayContinue();
  if (!(await files.hasDirectory(directory))) throw new JobFailure('The files of this import are not on this server.');
  const begun = await files.begin(job);
  const reports = await files.openReports(job, begun);
  const lines = createReportLines(format === 'csv', begun?.reports ?? NO_LINES);
  const start = begun ?? { row: 0, counts: NO_COUNTS, atMs: now() };
  const checkpoint = async ({ row, counts, atMs }: Pick<Checkpoint, 'row' | 'counts' | 'atMs'>) => {
    await reports.checkpoint({ row, counts, atMs, bytesRead, reports: lines.state() });
  };
  /** Counts the batch that was being stored when the import was cancelled, because the cancellation counts up to the last checkpoint. */
  async function countIfCancelled(counts: ImportCounts): Promise<void> {
    const progress = importProgress({ counts, reports: lines.state(), bytesRead });
    await catalog.importJobs.update(workspaceId, id, (current) =>
      current.status === 'cancelled' && current.attempt === attempt ? progress : {},
    );
  }
  try {
    await checkpoint(start);
    const opened = await orAborted(openSource(start.row), signal);
    await importLinks(yieldingRows(opened.rows, signal), {
      deps: { catalog, defaultDomain: deps.defaultDomain, now },
      author,
      source,
      mapRecord: opened.mapRecord,
      mapping: {
        timezone: job.timezone ?? undefined,
        ...(opened.folderNames && { folderNames: opened.folderNames }),
      },
      domains: parseDomainMap(job.domains),
      tags: job.tags,
      history: job.history,
      onConflict: job.onConflict,
      isDry: job.dryRun,
      // Undefined in the first attempt: then no existing link was created by this import.
      position: begun,
      report: {
        rejected: (rejection) => reports.append('rejected', lines.rejected(rejection)),
        lost: (loss) => reports.append('lost', lines.lost(loss)),
        async progress(counts, row) {
          try {
            await checkpoint({ row, counts, atMs: now() });
            if (row > start.row) deps.onProgress();
            await checkMayContinue();
          } catch (err) {
            await countIfCancelled(counts);
            throw err;
          }
        },
      },
    });
  } catch (err) {
    throw err instanceof ImportError ? new JobFailure(err.message) : err;
  } finally {
    await reports.close();
  }
}
