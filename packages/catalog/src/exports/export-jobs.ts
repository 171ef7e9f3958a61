import { ApiError, type ExportResource, type ExportStatus, UNFINISHED_EXPORTS_MAX } from '@waymark/contract';
import type { LinkVisibility } from '../links/link-visibility.js';
import { isOneOf } from '../lists/list-conditions.js';
import { BY_CREATION } from '../lists/record-list.js';
import type { ErasureRecord, ExportJobRecord } from '../model/job-record-schemas.js';
import { createResources, type New, type ResourceDeps, type ResourceRules } from '../resources/resource.js';
import { changeAll } from '../store/bulk-changes.js';
import type { RecordStore } from '../store/record-store.js';

/** The fields of a new export job; all others have defaults. */
export type NewExportJob = New<
  ExportJobRecord,
  'resource' | 'format' | 'columns' | 'escapeFormulas' | 'filters' | 'keyId' | 'hidesFolders' | 'hidesPasswords'
>;

/** Selects the export jobs that a caller may see. */
export interface ExportJobFilters {
  readonly resources: readonly ExportResource[];
  readonly visibility: LinkVisibility;
}

const RULES: ResourceRules<ExportJobRecord, NewExportJob, ExportJobFilters, 'createdAt'> = {
  title: 'export',
  complete: (input) => ({
    ...{ status: 'queued', attempt: 0, interruptions: 0, rows: 0, bytes: 0, file: null, error: null },
    ...{ startedAt: null, finishedAt: null, expiresAt: null, isUnreported: false },
    ...input,
  }),
  conditions: ({ resources, visibility }) => [
    isOneOf('resource', resources),
    {
      sql: 'hides_folders >= {hides_folders:UInt8} AND hides_passwords >= {hides_passwords:UInt8}',
      values: { hides_folders: Number(visibility.hidesFolders), hides_passwords: Number(visibility.hidesPasswords) },
    },
  ],
  sorts: { createdAt: BY_CREATION },
};

const UNFINISHED: readonly ExportStatus[] = ['queued', 'processing'];
/** The resources whose files may contain data of a person. */
const WITH_PEOPLE: readonly ExportResource[] = ['events', 'customers', 'analytics'];
/** The longest time for which a record can be read after the time of its removal: the insert takes up to 25 seconds, and clocks differ. */
const REMOVAL_MS_MAX = 30_000;
const RETRY_SECONDS = 60;

/** Whether the export is waiting or running. */
export function isUnfinished({ status }: Pick<ExportJobRecord, 'status'>): boolean {
  return UNFINISHED.includes(status);
}

/** Dependencies of {@link createExportJobs}. */
export interface ExportJobsDeps extends ResourceDeps {
  /** Epoch milliseconds at which the last of the customers was removed; 0 when none was. */
  readonly customersRemovedAt: (workspaceId: string, customerIds: readonly string[]) => Promise<number>;
}

/** The operations on export jobs (docs/reference/exports.md). */
export function createExportJobs(store: RecordStore<ExportJobRecord>, deps: ExportJobsDeps) {
  const { get, require, list, create, update } = createResources(store, RULES, deps);
  return {
    get,
    require,
    list,
    update,

    /** Begins the next attempt, unless the export has ended. */
    begin: ({ workspaceId, id }: ExportJobRecord): Promise<ExportJobRecord> =>
      update(workspaceId, id, (current) => {
        if (!isUnfinished(current)) return {};
        const startedAt = current.startedAt ?? new Date(deps.now()).toISOString();
        return { status: 'processing', attempt: current.attempt + 1, startedAt };
      }),

    /** Records that an attempt has ended for a reason other than the export, unless the export has ended. */
    interrupted: ({ workspaceId, id }: ExportJobRecord): Promise<ExportJobRecord> =>
      update(workspaceId, id, (current) => (isUnfinished(current) ? { interruptions: current.interruptions + 1 } : {})),

    /** @throws ApiError 429 when the workspace has as many unfinished exports as it may */
    create(workspaceId: string, input: NewExportJob): Promise<ExportJobRecord> {
      const refusal = () => {
        const message = `This workspace has ${UNFINISHED_EXPORTS_MAX} exports that have not ended, which is the most that it may have. Please try again when one has ended.`;
        return new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
      };
      const request = {
        ...{ workspaceId, what: store.kind.table, amount: 1, limit: UNFINISHED_EXPORTS_MAX, refusal },
        used: () => store.lists.countFew(workspaceId, [isOneOf('status', UNFINISHED)]),
      };
      return deps.quotas.within(request, () => create(workspaceId, input));
    },

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
      const removedMs = (await deps.customersRemovedAt(workspaceId, customerIds)) + REMOVAL_MS_MAX;
      const conditions = [isOneOf('status', ['processing', 'completed']), isOneOf('resource', WITH_PEOPLE)];
      await changeAll(store, workspaceId, conditions, (job) => {
        const untilMs = job.resource === 'customers' ? Math.max(acceptedMs, removedMs) : acceptedMs;
        if (Date.parse(job.startedAt ?? job.createdAt) > untilMs) return job;
        const error = 'The file was removed because a customer was erased after it was made. Please export again.';
        const finishedAt = job.finishedAt ?? new Date(deps.now()).toISOString();
        return job.status === 'completed'
          ? { ...job, status: 'expired' as const, error }
          : { ...job, status: 'failed' as const, error, finishedAt, isUnreported: true };
      });
    },

    /** The open exports of all workspaces: those that wait, run, have a file, or have ended without their webhooks having been sent; oldest first. */
    listOpen: (): Promise<ExportJobRecord[]> =>
      store.table.selectEverywhere('status IN ({statuses:Array(String)}) OR unreported = 1', {
        statuses: [...UNFINISHED, 'completed'],
      }),
  };
}
