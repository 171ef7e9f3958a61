import { UNFINISHED_IMPORTS_MAX } from '@waymark/contract';
import { type LinkVisibility, visibleTo } from '../links/caller-visibility.js';
import { BY_CREATION } from '../lists/record-list.js';
import type { ImportJobRecord } from '../model/job-record-schemas.js';
import type { ParsedRows } from '../model/parse-record.js';
import { createJobs, UNFINISHED } from '../resources/jobs.js';
import type { New, ResourceDeps, ResourceRules } from '../resources/resource.js';
import type { Sealer, SecretBox } from '../secrets/secret-box.js';
import type { RecordStore } from '../store/record-store.js';

/** The fields of a new import; all others have defaults. */
export type NewImportJob = New<
  ImportJobRecord,
  | keyof Pick<ImportJobRecord, 'source' | 'format' | 'address' | 'sourceWorkspace' | 'domains' | 'dryRun' | 'tags'>
  | keyof Pick<ImportJobRecord, 'history' | 'onConflict' | 'timezone' | 'directory' | 'bytes'>
  | keyof Pick<ImportJobRecord, 'keyId' | 'hidesFolders' | 'hidesPasswords'>
>;

/** The fields of which each import may have much. */
const LONG_FIELDS = ['domains', 'tags'] as const;

/** An import among those of all workspaces, without its long fields. */
export type OpenImportJob = Omit<ImportJobRecord, (typeof LONG_FIELDS)[number]>;

/** Selects the imports that a caller may see. */
export interface ImportJobFilters {
  readonly visibility: LinkVisibility;
}

const RULES: ResourceRules<ImportJobRecord, NewImportJob, ImportJobFilters, 'createdAt'> = {
  title: 'import',
  complete: (input) => ({
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
    files: [],
    error: null,
    startedAt: null,
    finishedAt: null,
    expiresAt: null,
    isUnreported: false,
    ...input,
  }),
  conditions: ({ visibility }) => [visibleTo(visibility)],
  sorts: { createdAt: BY_CREATION },
};

/** The operations on imports of links, which run in the background (docs/reference/imports.md). */
export function createImportJobs(store: RecordStore<ImportJobRecord>, secrets: SecretBox, deps: ResourceDeps) {
  return {
    ...createJobs(store, RULES, deps, UNFINISHED_IMPORTS_MAX),

    /** The open imports of all workspaces: those that wait, run, have reports, or have ended without their webhooks having been sent; oldest first. */
    listOpen: (): Promise<ParsedRows<OpenImportJob>> =>
      store.table.selectWithout(
        LONG_FIELDS,
        'status IN ({statuses:Array(String)}) OR has_files = 1 OR unreported = 1',
        {
          statuses: [...UNFINISHED],
        },
      ),

    /** Encrypts the credential of a source. @param directory name of the import's directory; decryption requires the same */
    seal: (credential: string, directory: string): string => secrets.seal(credential, directory),

    /** Decrypts a credential. @throws Error when no accepted instance key has encrypted it for that directory */
    unseal: (sealed: string, directory: string): string => secrets.open(sealed, directory),

    /** Which key has encrypted a credential. */
    sealerOf: (sealed: string, directory: string): Sealer => secrets.sealerOf(sealed, directory),
  };
}
