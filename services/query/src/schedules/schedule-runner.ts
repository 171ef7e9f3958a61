import { EXPORT_SCHEDULES_TABLE, type ExportScheduleRecord, type OpenExportSchedule } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import type { ExportDeps } from '@waymark/export';
import type { Logger } from '@waymark/http-kit';
import { createTurns, createWorkLoop, isInterruption, JobStopped } from '@waymark/jobs';
import { LEASE_MS, takeLease } from '@waymark/redis';
import type { Redis } from 'ioredis';
import { type RunWindowDeps, runWindow } from './run-window.js';
import { OverUsage } from './schedule-access.js';
import { StorageError } from './storage-error.js';
import { isClosed, nextWindow } from './windows.js';

export interface ScheduleRunnerDeps extends RunWindowDeps, ExportDeps {
  readonly redis: Redis;
  readonly logger: Pick<Logger, 'warn'>;
  /** Sends the unreported end of a window or schedule to the webhooks of the workspace. */
  readonly report: (schedule: ExportScheduleRecord) => Promise<void>;
}

/** Exports the windows of all schedules: those of a workspace one after the other, of a few workspaces at the same time, which take turns. */
export interface ScheduleRunner {
  start(): void;
  /** Stops after the rows that are being encoded. Another process, or the next start, continues the windows. */
  close(): Promise<void>;
}

/** Interval of polls for windows that have become due. */
const POLL_INTERVAL_MS = 60_000;
/** Shortest interval of polls. */
const POLL_INTERVAL_MS_MIN = 100;
/** How long a schedule waits after an error of Redis or ClickHouse, or when its workspace has no export slot left. */
const RETRY_MS = 5_000;
/** How many workspaces export at the same time. They take turns, and an attempt ends after minutes, so slow storages do not block the others. */
const WORKSPACES_MAX = 4;
/** What the owner reads of an error that is no answer of the API. */
const INTERNAL_ERROR = 'An internal error has stopped the export. The log of the server has its reason.';
/** Consecutive refusals after which a schedule is disabled; with the pauses in between, this takes four and a half hours. */
const REFUSALS_MAX = 10;
const PAUSE_MS_MIN = 60_000;
const PAUSE_MS_MAX = 3_600_000;

/** The pause after the nth consecutive failure: doubles from a minute to an hour. */
function pauseAfter(failures: number): number {
  return Math.min(PAUSE_MS_MIN * 2 ** (failures - 1), PAUSE_MS_MAX);
}

/**
 * The pause before the next poll, in milliseconds: until a schedule may be tried again, at most a minute.
 *
 * @param retryTimes times before which schedules must not be tried again. Those that had passed when the last poll began do not count:
 * either that poll has tried the schedule, or the schedule is not due, because another process has exported its window.
 */
export function pauseBeforePoll(retryTimes: Iterable<number>, lastPollMs: number, nowMs: number): number {
  const coming = [...retryTimes].filter((timeMs) => timeMs > lastPollMs);
  return Math.min(Math.max(Math.min(...coming) - nowMs, POLL_INTERVAL_MS_MIN), POLL_INTERVAL_MS);
}

/** Creates the runner of a process; nothing runs before `start`. */
export function createScheduleRunner(deps: ScheduleRunnerDeps): ScheduleRunner {
  const { catalog, exportSlots, redis, logger, report, now } = deps;
  const { exportSchedules } = catalog;
  /** Times before which schedules must not be tried again, in epoch milliseconds, by id of the schedule. */
  const retryAtMs = new Map<string, number>();
  /** The turns of workspaces, and of the schedules of one workspace. */
  const turns = createTurns();

  /** Whether a schedule has a window to export, or an end to report. */
  function isDue(schedule: OpenExportSchedule): boolean {
    if ((retryAtMs.get(schedule.id) ?? 0) > now()) return false;
    if (schedule.unreported !== null) return true;
    const { disabledAt, retryAt } = schedule;
    if (disabledAt !== null || (retryAt !== null && Date.parse(retryAt) > now())) return false;
    return isClosed(nextWindow(schedule), now());
  }

  /** Records how an attempt ended, unless another one has begun. */
  async function endAttempt(begun: ExportScheduleRecord, change: (current: ExportScheduleRecord) => object) {
    await exportSchedules.update(begun.workspaceId, begun.id, (current) =>
      current.attempt === begun.attempt ? change(current) : {},
    );
  }

  /** The change that disables a schedule. */
  const disabled = (reason: string) => ({
    disabledAt: new Date(now()).toISOString(),
    disabledReason: reason,
    error: reason,
    retryAt: null,
    unreported: 'failed',
  });

  /** Records a failure, after which the schedule pauses or is disabled. @param isRefusal whether the storage has refused the upload */
  async function afterFailure(begun: ExportScheduleRecord, reason: string, isRefusal: boolean): Promise<void> {
    await endAttempt(begun, (current) => {
      const refusals = current.refusals + (isRefusal ? 1 : 0);
      const failures = current.failures + 1;
      const counts = { refusals, failures };
      if (refusals >= REFUSALS_MAX) {
        return { ...counts, ...disabled(`The storage has refused ${refusals} times in a row. ${reason}`) };
      }
      return { ...counts, error: reason, retryAt: new Date(now() + pauseAfter(failures)).toISOString() };
    });
  }

  /**
   * Exports the next window, and records a failure.
   *
   * @throws errors that the operator has to see: those of our own stores, which are temporary and not recorded, and others that are not due to
   * the storage or the key, such as that of a statement that takes too much time
   */
  async function attempt(schedule: ExportScheduleRecord, signal: AbortSignal): Promise<void> {
    const { workspaceId, id } = schedule;
    const begun = await exportSchedules.update(workspaceId, id, (current) => ({ attempt: current.attempt + 1 }));
    if (!isDue(begun)) return;
    try {
      await runWindow(deps, begun, signal);
    } catch (err) {
      if (err instanceof JobStopped || signal.aborted) return;
      if (err instanceof StorageError) return afterFailure(begun, err.reason, err.isRefusal);
      if (err instanceof OverUsage) return afterFailure(begun, err.message, false);
      if (err instanceof ApiError && err.status < 500 && err.code !== 'rate_limit_exceeded') {
        return endAttempt(begun, () => disabled(err.message));
      }
      if (!isInterruption(err)) {
        await afterFailure(begun, err instanceof ApiError ? err.message : INTERNAL_ERROR, false);
      }
      throw err;
    }
  }

  /** Exports a window of a schedule or reports an end, under the lease of the schedule, unless another process has the lease. */
  async function work(schedule: OpenExportSchedule): Promise<void> {
    const { workspaceId, id } = schedule;
    const lease = await takeLease(redis, `export-job:${id}`);
    if (lease === undefined) {
      retryAtMs.set(id, now() + LEASE_MS);
      return;
    }
    await lease.during(async (lost) => {
      // Read again, because the process that had the lease before may have changed the record.
      const current = await exportSchedules.get(workspaceId, id);
      if (current === undefined) return;
      if (current.unreported !== null) {
        await report(current);
        // Another process may have reported it as well, and exported the next window since.
        await endAttempt(current, ({ unreported }) => (unreported === current.unreported ? { unreported: null } : {}));
      } else if (isDue(current)) {
        await attempt(current, AbortSignal.any([loop.closing, lost]));
      }
    });
  }

  /** {@link work} with an export slot of the workspace; errors are logged, and the schedule is tried again. */
  async function tryWork(schedule: OpenExportSchedule): Promise<void> {
    const { workspaceId, id } = schedule;
    const slot = exportSlots.tryTake(workspaceId);
    if (slot === undefined) {
      retryAtMs.set(id, now() + RETRY_MS);
      return;
    }
    try {
      retryAtMs.delete(id);
      await work(schedule);
    } catch (err) {
      retryAtMs.set(id, now() + RETRY_MS);
      const isRemoved = err instanceof ApiError && err.code === 'not_found';
      if (!loop.closing.aborted && !isRemoved) {
        logger.warn({ err, scheduleId: id, workspaceId }, 'a scheduled export was interrupted; it continues');
      }
    } finally {
      slot.free();
    }
  }

  /** The order of schedules that are due: by the turns of their workspaces, then by their own. Among equals, the window that closed first. */
  function inTurn(one: OpenExportSchedule, other: OpenExportSchedule): number {
    const before = (id: keyof Pick<ExportScheduleRecord, 'workspaceId' | 'id'>) =>
      turns.last(one[id]) - turns.last(other[id]);
    return before('workspaceId') || before('id') || (one.exportedUntil < other.exportedUntil ? -1 : 1);
  }

  /** Starts what is due. @returns milliseconds until the next poll */
  async function poll(): Promise<number> {
    const startedMs = now();
    const { records: open } = await exportSchedules.listOpen();
    const known = new Set(open.map(({ id }) => id));
    for (const id of retryAtMs.keys()) if (!known.has(id)) retryAtMs.delete(id);
    const due = open.filter(isDue).sort(inTurn);
    if (due.length === 0 && loop.running.size === 0) turns.clear();
    for (const schedule of due) {
      if (loop.running.size >= WORKSPACES_MAX || loop.closing.aborted) break;
      const { workspaceId, id } = schedule;
      if (loop.running.has(workspaceId)) continue;
      turns.take(workspaceId, id);
      loop.run(workspaceId, () => tryWork(schedule));
    }
    return pauseBeforePoll(retryAtMs.values(), startedMs, now());
  }

  /** Keys of `running` are ids of workspaces. */
  const loop = createWorkLoop({
    poll,
    onError: (err) => logger.warn({ err }, 'export schedules could not be read'),
    retryMs: RETRY_MS,
    subscribe: catalog.subscribe,
    table: EXPORT_SCHEDULES_TABLE,
  });
  return { start: loop.start, close: loop.close };
}
