import { EXPORT_SCHEDULES_MAX, type ExportDestination } from '@waymark/contract';
import { type LinkVisibility, visibleTo } from '../links/caller-visibility.js';
import { BY_CREATION } from '../lists/record-list.js';
import type { ExportScheduleRecord } from '../model/job-record-schemas.js';
import type { ParsedRows } from '../model/parse-record.js';
import { createResources, type New, type ResourceDeps, type ResourceRules } from '../resources/resource.js';
import type { SecretBox } from '../secrets/secret-box.js';
import type { RecordStore } from '../store/record-store.js';

/** The credentials with which exports of a schedule access its storage. */
export type ExportCredentials = Pick<ExportDestination, 'accessKeyId' | 'secretAccessKey'>;

/** The fields of a new schedule; all others have defaults. */
export type NewExportSchedule = New<
  ExportScheduleRecord,
  | keyof Pick<ExportScheduleRecord, 'resource' | 'frequency' | 'format' | 'columns' | 'filters'>
  | keyof Pick<
      ExportScheduleRecord,
      'escapeFormulas' | 'rowsPerFile' | 'destination' | 'encryptedCredentials' | 'exportedUntil'
    >
  | keyof Pick<ExportScheduleRecord, 'keyId' | 'hidesFolders' | 'hidesPasswords'>
>;

/** A schedule in the list of those of all workspaces: without its filters, which may be long. */
export type OpenExportSchedule = Omit<ExportScheduleRecord, 'filters'>;

/** Selects the schedules that a caller may see. */
export interface ExportScheduleFilters {
  readonly visibility: LinkVisibility;
}

/** The fields of a schedule whose last attempt did not fail. */
export const HEALTHY_SCHEDULE = { error: null, refusals: 0, failures: 0, retryAt: null } as const;

const RULES: ResourceRules<ExportScheduleRecord, NewExportSchedule, ExportScheduleFilters, 'createdAt'> = {
  title: 'export schedule',
  complete: (input) => ({
    run: null,
    attempt: 0,
    lastWindow: null,
    ...HEALTHY_SCHEDULE,
    disabledAt: null,
    disabledReason: null,
    unreported: null,
    ...input,
  }),
  conditions: ({ visibility }) => [visibleTo(visibility)],
  sorts: { createdAt: BY_CREATION },
};

/** The operations on export schedules (docs/reference/exports.md). The credentials of their storage are stored encrypted. */
export function createExportSchedules(
  store: RecordStore<ExportScheduleRecord>,
  secrets: SecretBox,
  deps: ResourceDeps,
) {
  const { get, require, list, create, update, remove } = createResources(store, RULES, deps);
  return {
    get,
    require,
    list,
    update,
    remove,

    /** @throws ApiError forbidden when the workspace has as many schedules as it may */
    create: (workspaceId: string, input: NewExportSchedule): Promise<ExportScheduleRecord> =>
      create(workspaceId, input, EXPORT_SCHEDULES_MAX),

    /** Encrypts credentials, for the field `encryptedCredentials` of a record. */
    seal: (workspaceId: string, { accessKeyId, secretAccessKey }: ExportCredentials): string =>
      secrets.seal(JSON.stringify({ accessKeyId, secretAccessKey }), workspaceId),

    /** Decrypts the credentials of a schedule. @throws Error when no accepted instance key can decrypt them */
    credentialsOf: ({ encryptedCredentials, workspaceId }: ExportScheduleRecord): ExportCredentials =>
      JSON.parse(secrets.open(encryptedCredentials, workspaceId)) as ExportCredentials,

    /**
     * Disables the schedules of all workspaces. Each, also one that was disabled before, continues with the current window when it is enabled
     * again (docs/reference/exports.md, After a restore).
     *
     * @param backupAt when the backup was made, for the reason that owners see
     * @returns how many of them were enabled before
     */
    async disableRestored(backupAt: string, disabledAt: string): Promise<number> {
      const reason = `Waymark was restored from a backup of ${backupAt}, without what was stored later. What this schedule has exported later is not overwritten: it continues with the current window when it is enabled again, or from "since" on.`;
      const disabled = {
        disabledAt,
        disabledReason: reason,
        error: reason,
        retryAt: null,
        unreported: 'failed',
      } as const;
      let count = 0;
      for (const { workspaceId, id } of await store.table.selectEverywhere('1', {})) {
        await update(workspaceId, id, (current) => {
          const isEnabled = current.disabledAt === null;
          count += isEnabled ? 1 : 0;
          return { attempt: current.attempt + 1, isRestored: true, ...(isEnabled ? disabled : {}) };
        });
      }
      return count;
    },

    /** The schedules of all workspaces that are enabled, or for which webhooks have not been sent yet. */
    listOpen: (): Promise<ParsedRows<OpenExportSchedule>> =>
      store.table.selectWithout(['filters'], 'disabled = 0 OR unreported = 1', {}),
  };
}
