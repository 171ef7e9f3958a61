import { type ExportResource, UNFINISHED_EXPORTS_MAX } from '@waymark/contract';
import { type LinkVisibility, visibleTo } from '../links/caller-visibility.js';
import { isOneOf } from '../lists/list-conditions.js';
import { BY_CREATION } from '../lists/record-list.js';
import type { ErasureRecord, ExportJobRecord } from '../model/job-record-schemas.js';
import type { ParsedRows } from '../model/parse-record.js';
import { CLOCKS_APART_MS } from '../resources/clocks.js';
import { createJobs, UNFINISHED } from '../resources/jobs.js';
import type { New, ResourceDeps, ResourceRules } from '../resources/resource.js';
import { changeAll, type Selection } from '../store/bulk-changes.js';
import type { RecordStore } from '../store/record-store.js';

/** The fields of a new export job; all others have defaults. */
export type NewExportJob = New<
  ExportJobRecord,
  'resource' | 'format' | 'columns' | 'escapeFormulas' | 'filters' | 'keyId' | 'hidesFolders' | 'hidesPasswords'
>;

/** An export job in the list of those of all workspaces: without its filters, which may be long. */
export type OpenExportJob = Omit<ExportJobRecord, 'filters'>;

/** Selects the export jobs that a caller may see. */
export interface ExportJobFilters {
  readonly resources: readonly ExportResource[];
  readonly visibility: LinkVisibility;
}

const RULES: ResourceRules<ExportJobRecord, NewExportJob, ExportJobFilters, 'createdAt'> = {
  title: 'export',
  complete: (input) => ({
    status: 'queued',
    attempt: 0,
    interruptions: 0,
    rows: 0,
    bytes: 0,
    file: null,
    error: null,
    startedAt: null,
    finishedAt: null,
    expiresAt: null,
    isUnreported: false,
    ...input,
  }),
  conditions: ({ resources, visibility }) => [isOneOf('resource', resources), visibleTo(visibility)],
  sorts: { createdAt: BY_CREATION },
};

/** The resources whose files may contain data of a person. */
const WITH_PEOPLE: readonly ExportResource[] = ['events', 'customers', 'analytics'];
/** The statuses of a job whose file may contain rows. */
const WITH_ROWS: readonly ExportJobRecord['status'][] = ['processing', 'completed'];
/** The jobs that an erasure may end. One that has ended otherwise stays as it is. */
const WITHDRAWABLE: Selection<ExportJobRecord> = {
  conditions: [isOneOf('status', WITH_ROWS), isOneOf('resource', WITH_PEOPLE)],
  has: ({ status, resource }) => WITH_ROWS.includes(status) && WITH_PEOPLE.includes(resource),
};
/**
 * An export that begins in this time after an erasure or a removal is withdrawn as well: the insert of a removal takes up to 25 seconds after its
 * time, and the clocks of the processes differ.
 */
const LATE_MS_MAX = CLOCKS_APART_MS;

/** Dependencies of {@link createExportJobs}. */
export interface ExportJobRecordsDeps extends ResourceDeps {
  /** Epoch milliseconds at which the last of the customers was removed; 0 when none was. */
  readonly customersRemovedMs: (workspaceId: string, customerIds: readonly string[]) => Promise<number>;
}

/** The operations on export jobs (docs/reference/exports.md). */
export function createExportJobs(store: RecordStore<ExportJobRecord>, deps: ExportJobRecordsDeps) {
  return {
    ...createJobs(store, RULES, deps, UNFINISHED_EXPORTS_MAX),

    /**
     * Ends the exports that may contain data of erased people, whose records are removed already: a completed one expires, a running one
     * fails, and their files are removed. Exports of events and analytics leave the people out once the erasure is accepted, exports of
     * customers once the records are removed. May be repeated.
     *
     * @param erasures of the workspace, at least one
     */
    async withdraw(workspaceId: string, erasures: readonly ErasureRecord[]): Promise<void> {
      const acceptedMs = Math.max(...erasures.map(({ createdAt }) => Date.parse(createdAt)));
      const customerIds = erasures.flatMap((erasure) => erasure.customerIds);
      const removedMs = await deps.customersRemovedMs(workspaceId, customerIds);
      await changeAll(store, workspaceId, WITHDRAWABLE, (job) => {
        const untilMs = job.resource === 'customers' ? Math.max(acceptedMs, removedMs) : acceptedMs;
        if (Date.parse(job.startedAt ?? job.createdAt) > untilMs + LATE_MS_MAX) return job;
        const error = 'The file was removed because a customer was erased after it was created. Please export again.';
        const finishedAt = job.finishedAt ?? new Date(deps.now()).toISOString();
        return job.status === 'completed'
          ? { ...job, status: 'expired' as const, error }
          : { ...job, status: 'failed' as const, error, finishedAt, isUnreported: true };
      });
    },

    /** The open exports of all workspaces: those that wait, run, have a file, or have ended without their webhooks having been sent; oldest first. */
    listOpen: (): Promise<ParsedRows<OpenExportJob>> =>
      store.table.selectWithout(['filters'], 'status IN ({statuses:Array(String)}) OR unreported = 1', {
        statuses: [...UNFINISHED, 'completed'],
      }),
  };
}
