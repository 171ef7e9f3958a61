import { ApiError, type ImportStatus, UNFINISHED_IMPORTS_MAX } from '@waymark/contract';
import type { LinkVisibility } from '../links/link-visibility.js';
import { isOneOf } from '../lists/list-conditions.js';
import { BY_CREATION } from '../lists/record-list.js';
import type { ImportJobRecord } from '../model/job-record-schemas.js';
import { createResources, type New, type ResourceDeps, type ResourceRules } from '../resources/resource.js';
import type { Sealer, SecretBox } from '../secrets/secret-box.js';
import type { RecordStore } from '../store/record-store.js';

/** The fields of a new import; all others have defaults. */
export type NewImportJob = New<
  ImportJobRecord,
  | keyof Pick<ImportJobRecord, 'source' | 'format' | 'address' | 'sourceWorkspace' | 'domains' | 'dryRun' | 'tags'>
  | keyof Pick<ImportJobRecord, 'history' | 'onConflict' | 'timezone' | 'directory' | 'bytes'>
  | keyof Pick<ImportJobRecord, 'keyId' | 'hidesFolders' | 'hidesPasswords'>
>;

/** Selects the imports that a caller may see. */
export interface ImportJobFilters {
  readonly visibility: LinkVisibility;
}

const RULES: ResourceRules<ImportJobRecord, NewImportJob, ImportJobFilters, 'createdAt'> = {
  title: 'import',
  complete: (input) => ({
    ...{
      status: 'queued',
      attempt: 0,
      interruptions: 0,
      rows: 0,
      created: 0,
      updated: 0,
      skipped: 0,
      rejected: 0,
      lost: 0,
      bytesRead: 0,
    },
    ...{ files: [], error: null, startedAt: null, finishedAt: null, expiresAt: null, isUnreported: false },
    ...input,
  }),
  conditions: ({ visibility }) => [
    {
      sql: 'hides_folders >= {hides_folders:UInt8} AND hides_passwords >= {hides_passwords:UInt8}',
      values: { hides_folders: Number(visibility.hidesFolders), hides_passwords: Number(visibility.hidesPasswords) },
    },
  ],
  sorts: { createdAt: BY_CREATION },
};

const UNFINISHED: readonly ImportStatus[] = ['queued', 'processing'];
const RETRY_SECONDS = 60;

/** The operations on imports of links, which run in the background (docs/reference/imports.md). */
export function createImportJobs(store: RecordStore<ImportJobRecord>, secrets: SecretBox, deps: ResourceDeps) {
  const { get, require, list, create, update } = createResources(store, RULES, deps);
  const isUnfinished = ({ status }: ImportJobRecord) => UNFINISHED.includes(status);
  const countUnfinished = (workspaceId: string) => store.lists.countFew(workspaceId, [isOneOf('status', UNFINISHED)]);
  const refusal = () => {
    const message = `This workspace has ${UNFINISHED_IMPORTS_MAX} imports that have not ended, which is the most that it may have. Please try again when one has ended.`;
    return new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS });
  };
  return {
    get,
    require,
    list,
    update,
    isUnfinished,

    /** Early check, before a file is received. @throws ApiError 429 when the workspace has as many unfinished imports as it may */
    async checkRoom(workspaceId: string): Promise<void> {
      if ((await countUnfinished(workspaceId)) >= UNFINISHED_IMPORTS_MAX) throw refusal();
    },

    /** @throws ApiError 429 when the workspace has as many unfinished imports as it may */
    create(workspaceId: string, input: NewImportJob): Promise<ImportJobRecord> {
      const request = {
        ...{ workspaceId, what: store.kind.table, amount: 1, limit: UNFINISHED_IMPORTS_MAX, refusal },
        used: () => countUnfinished(workspaceId),
      };
      return deps.quotas.within(request, () => create(workspaceId, input));
    },

    /** Begins the next attempt, unless the import has ended. */
    begin: ({ workspaceId, id }: ImportJobRecord): Promise<ImportJobRecord> =>
      update(workspaceId, id, (current) => {
        if (!isUnfinished(current)) return {};
        const startedAt = current.startedAt ?? new Date(deps.now()).toISOString();
        return { status: 'processing', attempt: current.attempt + 1, startedAt };
      }),

    /** Records that an attempt has ended for a reason other than the import, unless the import has ended. */
    interrupted: ({ workspaceId, id }: ImportJobRecord): Promise<ImportJobRecord> =>
      update(workspaceId, id, (current) => (isUnfinished(current) ? { interruptions: current.interruptions + 1 } : {})),

    /** The open imports of all workspaces: those that wait, run, have reports, or have ended without their webhooks having been sent; oldest first. */
    listOpen: (): Promise<ImportJobRecord[]> =>
      store.table.selectEverywhere('status IN ({statuses:Array(String)}) OR has_files = 1 OR unreported = 1', {
        statuses: [...UNFINISHED],
      }),

    /** Encrypts the credential of a source. @param directory name of the import's directory; decryption requires the same */
    seal: (credential: string, directory: string): string => secrets.seal(credential, directory),

    /** Decrypts a credential. @throws Error when no accepted instance key has encrypted it for that directory */
    unseal: (sealed: string, directory: string): string => secrets.open(sealed, directory),

    /** Which key has encrypted a credential. */
    sealerOf: (sealed: string, directory: string): Sealer => secrets.sealerOf(sealed, directory),
  };
}
