import { ApiError } from '@waymark/contract';
import { isOneOf } from '../lists/list-conditions.js';
import type { ExportJobRecord, ImportJobRecord } from '../model/job-record-schemas.js';
import type { RecordStore } from '../store/record-store.js';
import { createResources, type Fields, type ResourceDeps, type ResourceRules } from './resource.js';

/** The statuses of a job that is waiting or running. */
export const UNFINISHED = ['queued', 'processing'] as const;
const RETRY_SECONDS = 60;

/** The fields that record how far a job has come. */
type Course = Pick<
  ImportJobRecord,
  'status' | 'attempt' | 'interruptions' | 'startedAt' | 'finishedAt' | 'expiresAt' | 'isUnreported'
>;

/** Identifies the record of a job. */
type JobKey = Pick<ImportJobRecord, 'workspaceId' | 'id'>;

/** Whether the job is waiting or running. */
export function isUnfinished({ status }: { readonly status: string }): boolean {
  return UNFINISHED.some((one) => one === status);
}

/**
 * The operations that all jobs have in common: work in the background, in attempts that continue one another.
 *
 * @param unfinishedMax how many jobs that have not ended a workspace may have
 */
export function createJobs<R extends ExportJobRecord | ImportJobRecord, N, Filters>(
  store: RecordStore<R>,
  rules: ResourceRules<R, N, Filters, 'createdAt'>,
  deps: ResourceDeps,
  unfinishedMax: number,
) {
  const { get, require, list, create, update } = createResources(store, rules, deps);
  const timeAt = (ms: number) => new Date(ms).toISOString();
  const countUnfinished = (workspaceId: string) => store.lists.countFew(workspaceId, [isOneOf('status', UNFINISHED)]);
  const refusal = () => {
    const message = `This workspace has ${unfinishedMax} ${rules.title}s that have not ended, which is the most that it may have. Please try again when one has ended.`;
    return new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
  };

  /** Changes a job, unless it has ended. */
  const updateUnfinished = ({ workspaceId, id }: JobKey, change: (current: R) => Partial<Course>): Promise<R> =>
    update(workspaceId, id, (current) => (isUnfinished(current) ? (change(current) as Partial<Fields<R>>) : {}));

  return {
    get,
    require,
    list,
    update,

    /** Early check, before the work of creating a job begins. @throws ApiError 429 when the workspace has as many unfinished jobs as it may */
    async checkRoom(workspaceId: string): Promise<void> {
      if ((await countUnfinished(workspaceId)) >= unfinishedMax) throw refusal();
    },

    /** @throws ApiError 429 when the workspace has as many unfinished jobs as it may */
    create(workspaceId: string, input: N): Promise<R> {
      const request = {
        workspaceId,
        what: store.kind.table,
        amount: 1,
        limit: unfinishedMax,
        refusal,
        used: () => countUnfinished(workspaceId),
      };
      return deps.quotas.within(request, () => create(workspaceId, input));
    },

    /** Begins the next attempt, unless the job has ended. */
    begin: (job: JobKey): Promise<R> =>
      updateUnfinished(job, ({ attempt, startedAt }) => {
        return { status: 'processing', attempt: attempt + 1, startedAt: startedAt ?? timeAt(deps.now()) };
      }),

    /** Records that an attempt has ended for a reason other than the job, unless the job has ended. */
    interrupted: (job: R): Promise<R> =>
      updateUnfinished(job, ({ interruptions }) => ({ interruptions: interruptions + 1 })),

    /**
     * Ends the attempt, unless the job has ended already or another attempt has begun.
     *
     * @param fields what the attempt has come to, with the new status
     * @param keptMs how long the files of the job are kept; undefined when it has none
     */
    end: (job: R, fields: Partial<Fields<R>>, keptMs?: number): Promise<R> =>
      updateUnfinished(job, (current) => {
        if (current.attempt !== job.attempt) return {};
        const endedMs = deps.now();
        const expiresAt = keptMs === undefined ? null : timeAt(endedMs + keptMs);
        return { ...fields, finishedAt: timeAt(endedMs), expiresAt, isUnreported: true };
      }),

    /** Records that the end of the job was sent to webhooks. */
    reported: ({ workspaceId, id }: R): Promise<R> =>
      update(workspaceId, id, () => ({ isUnreported: false }) as Partial<Fields<R>>),
  };
}
