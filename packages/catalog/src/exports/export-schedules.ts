import { EXPORT_SCHEDULES_MAX, type ExportDestination } from '@waymark/contract';
import type { LinkVisibility } from '../links/link-visibility.js';
import type { ExportScheduleRecord } from '../model/job-record-schemas.js';
import { createResources, type New, type ResourceDeps, type ResourceRules } from '../resources/resource.js';
import type { SecretBox } from '../secrets/secret-box.js';
import { BY_CREATION } from '../store/record-list.js';
import type { RecordStore } from '../store/record-store.js';

/** What the storage of a schedule authenticates. */
export type ExportCredentials = Pick<ExportDestination, 'accessKeyId' | 'secretAccessKey'>;

export type NewExportSchedule = New<
  ExportScheduleRecord,
  | keyof Pick<ExportScheduleRecord, 'resource' | 'frequency' | 'format' | 'columns' | 'filters'>
  | keyof Pick<
      ExportScheduleRecord,
      'escapeFormulas' | 'rowsPerFile' | 'destination' | 'encryptedCredentials' | 'exportedUntil'
    >
  | keyof Pick<ExportScheduleRecord, 'keyId' | 'hidesFolders' | 'hidesPasswords'>
>;

/** Which schedules a caller may see. */
export interface ExportScheduleFilters {
  readonly visibility: LinkVisibility;
}

const RULES: ResourceRules<ExportScheduleRecord, NewExportSchedule, ExportScheduleFilters, 'createdAt'> = {
  title: 'export schedule',
  complete: (input) => ({
    ...{ run: null, attempt: 0, lastWindow: null, error: null, refusals: 0, failures: 0, retryAt: null },
    ...{ disabledAt: null, disabledReason: null, unreported: null },
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

/** Exports that are repeated, with the credentials of their storage, which are stored encrypted. */
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

    /** The form in which a record has the credentials. */
    seal: (workspaceId: string, { accessKeyId, secretAccessKey }: ExportCredentials): string =>
      secrets.seal(JSON.stringify({ accessKeyId, secretAccessKey }), workspaceId),

    /** @throws Error when no accepted instance key has sealed them */
    credentialsOf: ({ encryptedCredentials, workspaceId }: ExportScheduleRecord): ExportCredentials =>
      JSON.parse(secrets.open(encryptedCredentials, workspaceId)) as ExportCredentials,

    /** The schedules of all workspaces that are enabled, or whose end is not reported. */
    open: (): Promise<ExportScheduleRecord[]> => store.table.selectEverywhere('disabled = 0 OR unreported = 1', {}),
  };
}
