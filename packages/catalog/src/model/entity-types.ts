import { ROOT_KEY } from '@waymark/contract';
import { type EntityType, type Name, numberOf, numberOrZero } from './entity-type.js';
import {
  type ErasureRecord,
  type ExportJobRecord,
  type ExportScheduleRecord,
  erasureRecordSchema,
  exportJobRecordSchema,
  exportScheduleRecordSchema,
  type ImportJobRecord,
  importJobRecordSchema,
} from './job-record-schemas.js';
import { normaliseKey, otherKeyForms } from './link-key.js';
import {
  type ApiKeyRecord,
  apiKeyRecordSchema,
  type CustomerRecord,
  customerRecordSchema,
  type DomainRecord,
  domainRecordSchema,
  type FolderRecord,
  folderRecordSchema,
  type GroupRecord,
  groupRecordSchema,
  type LinkRecord,
  linkRecordSchema,
  type PartnerRecord,
  type PartnerTagRecord,
  type ProgramRecord,
  partnerRecordSchema,
  partnerTagRecordSchema,
  programRecordSchema,
  type TagRecord,
  tagRecordSchema,
  type UtmTemplateRecord,
  utmTemplateRecordSchema,
  type WebhookRecord,
  type WorkspaceRecord,
  webhookRecordSchema,
  workspaceRecordSchema,
} from './record-schemas.js';

const DAY_MS = 24 * 3_600_000;
/** For credentials and what they depend on: short, so that revoked keys and changed plans take effect even while both stores are away. */
const CREDENTIAL_STALE_MS = 600_000;

// Names without a scope are unique in the whole installation.

export const workspaceSlug = (slug: string): Name => ({ kind: 'workspace', scope: '', name: slug });
export const keyHash = (hash: string): Name => ({ kind: 'key', scope: '', name: hash });
export const domainHost = (slug: string): Name => ({ kind: 'domain', scope: '', name: slug });
/** @param lookupKey the result of {@link normaliseKey} */
export const linkAddress = (domain: string, lookupKey: string): Name => ({
  kind: 'link',
  scope: domain,
  name: lookupKey,
});
/** The address of a link in every form. @param key in any form */
export const linkAddresses = (domain: string, key: string): Name[] =>
  [normaliseKey(key), ...otherKeyForms(key)].map((form) => linkAddress(domain, form));
/** A name that is unique among the records of one kind in one workspace. */
const inWorkspace = (kind: string, workspaceId: string, name: string): Name => ({
  kind,
  scope: numberOf('workspace', workspaceId),
  name,
});
/** Like {@link inWorkspace}, but ignores upper and lower case: for names that people choose. */
const foldedName = (kind: string, workspaceId: string, name: string): Name => ({
  ...inWorkspace(kind, workspaceId, name.normalize('NFC').toLowerCase()),
  original: name,
});
export const tagName = (workspaceId: string, name: string): Name => foldedName('tag', workspaceId, name);
export const utmTemplateName = (workspaceId: string, name: string): Name =>
  foldedName('utm-template', workspaceId, name);
export const folderName = (workspaceId: string, name: string): Name => foldedName('folder', workspaceId, name);
export const partnerTagName = (workspaceId: string, name: string): Name => foldedName('partner-tag', workspaceId, name);
export const partnerEmail = (workspaceId: string, email: string): Name =>
  foldedName('partner-email', workspaceId, email);
export const partnerTenantId = (workspaceId: string, tenantId: string): Name =>
  inWorkspace('partner-tenant-id', workspaceId, tenantId);
export const groupSlug = (workspaceId: string, slug: string): Name => inWorkspace('group', workspaceId, slug);
export const webhookUrl = (workspaceId: string, url: string): Name => inWorkspace('webhook-url', workspaceId, url);
export const linkExternalId = (workspaceId: string, externalId: string): Name =>
  inWorkspace('link-external-id', workspaceId, externalId);
export const customerExternalId = (workspaceId: string, externalId: string): Name =>
  inWorkspace('customer', workspaceId, externalId);

export const WORKSPACES_TABLE = 'workspaces';
export const API_KEYS_TABLE = 'api_keys';
export const LINKS_TABLE = 'links';
export const PARTNERS_TABLE = 'partners';
export const FOLDERS_TABLE = 'folders';
export const EXPORT_JOBS_TABLE = 'export_jobs';
export const IMPORT_JOBS_TABLE = 'import_jobs';
export const EXPORT_SCHEDULES_TABLE = 'export_schedules';
export const ERASURES_TABLE = 'erasures';

export const workspaceType: EntityType<WorkspaceRecord> = {
  resource: 'workspace',
  table: WORKSPACES_TABLE,
  schema: workspaceRecordSchema,
  columns: { slug: (record) => record.slug, plan: (record) => record.plan },
  names: (record) => [workspaceSlug(record.slug)],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const apiKeyType: EntityType<ApiKeyRecord> = {
  resource: 'apiKey',
  table: API_KEYS_TABLE,
  schema: apiKeyRecordSchema,
  columns: { key_hash: (record) => record.keyHash },
  names: (record) => [keyHash(record.keyHash)],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const domainType: EntityType<DomainRecord> = {
  resource: 'domain',
  table: 'domains',
  schema: domainRecordSchema,
  columns: { slug: (record) => record.slug, archived: (record) => (record.archived ? 1 : 0) },
  // While its links are being moved, a renamed domain also keeps its previous host.
  names: ({ slug, movedFrom }) => [
    domainHost(slug),
    ...(movedFrom === null || movedFrom === slug ? [] : [domainHost(movedFrom)]),
  ],
  staleMsMax: DAY_MS,
};

export const linkType: EntityType<LinkRecord> = {
  resource: 'link',
  isNumerous: true,
  table: LINKS_TABLE,
  schema: linkRecordSchema,
  columns: {
    domain: (record) => record.domain,
    key: (record) => record.key,
    url: (record) => record.url,
    external_id: (record) => record.externalId ?? '',
    tenant_id: (record) => record.tenantId ?? '',
    folder_id: (record) => numberOrZero('folder', record.folderId),
    tag_ids: (record) => record.tagIds.map((id) => numberOf('tag', id)),
    partner_id: (record) => numberOrZero('partner', record.partnerId),
    program_id: (record) => numberOrZero('program', record.programId),
    user_id: (record) => record.userId ?? '',
    archived: (record) => (record.archived ? 1 : 0),
  },
  names: (record) => {
    const addresses = linkAddresses(record.domain, record.key);
    return record.externalId === null
      ? addresses
      : [...addresses, linkExternalId(record.workspaceId, record.externalId)];
  },
  staleMsMax: DAY_MS,
};

export const customerType: EntityType<CustomerRecord> = {
  resource: 'customer',
  isNumerous: true,
  table: 'customers',
  schema: customerRecordSchema,
  columns: {
    external_id: (record) => record.externalId,
    email: (record) => record.email ?? '',
    country: (record) => record.country ?? '',
    link_id: (record) => numberOrZero('link', record.linkId),
  },
  names: (record) => [customerExternalId(record.workspaceId, record.externalId)],
  /** A removed customer leaves no personal data in its row. */
  remains: (record) => ({ ...record, externalId: '', email: null, country: null }),
  staleMsMax: CREDENTIAL_STALE_MS,
  queued: {
    columnTypes: { external_id: 'String', email: 'String', country: 'String', link_id: 'UInt64' },
    listed: (record) => ({ ...record, avatar: null }),
  },
};

export const tagType: EntityType<TagRecord> = {
  resource: 'tag',
  table: 'tags',
  schema: tagRecordSchema,
  columns: { name: (record) => record.name, color: (record) => record.color },
  names: (record) => [tagName(record.workspaceId, record.name)],
  staleMsMax: DAY_MS,
};

export const folderType: EntityType<FolderRecord> = {
  resource: 'folder',
  table: FOLDERS_TABLE,
  schema: folderRecordSchema,
  columns: { name: (record) => record.name, access_level: (record) => record.accessLevel ?? '' },
  names: (record) => [folderName(record.workspaceId, record.name)],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const utmTemplateType: EntityType<UtmTemplateRecord> = {
  resource: 'utmTemplate',
  table: 'utm_templates',
  schema: utmTemplateRecordSchema,
  columns: { name: (record) => record.name },
  names: (record) => [utmTemplateName(record.workspaceId, record.name)],
  staleMsMax: DAY_MS,
};

export const webhookType: EntityType<WebhookRecord> = {
  resource: 'webhook',
  table: 'webhooks',
  schema: webhookRecordSchema,
  columns: {
    name: (record) => record.name,
    url: (record) => record.url,
    triggers: (record) => record.triggers,
    link_scope: (record) => record.linkScope ?? '',
    disabled: (record) => (record.disabledAt === null ? 0 : 1),
  },
  names: (record) => [webhookUrl(record.workspaceId, record.url)],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const programType: EntityType<ProgramRecord> = {
  resource: 'program',
  table: 'programs',
  schema: programRecordSchema,
  columns: { name: (record) => record.name, domain_id: (record) => numberOrZero('domain', record.domainId) },
  names: () => [],
  staleMsMax: DAY_MS,
};

export const groupType: EntityType<GroupRecord> = {
  resource: 'partnerGroup',
  table: 'groups',
  schema: groupRecordSchema,
  columns: {
    name: (record) => record.name,
    slug: (record) => record.slug,
    color: (record) => record.color ?? '',
    program_id: (record) => numberOrZero('program', record.programId),
  },
  names: (record) => [groupSlug(record.workspaceId, record.slug)],
  staleMsMax: DAY_MS,
};

export const partnerTagType: EntityType<PartnerTagRecord> = {
  resource: 'partnerTag',
  table: 'partner_tags',
  schema: partnerTagRecordSchema,
  columns: { name: (record) => record.name },
  names: (record) => [partnerTagName(record.workspaceId, record.name)],
  staleMsMax: DAY_MS,
};

export const partnerType: EntityType<PartnerRecord> = {
  resource: 'partner',
  isNumerous: true,
  table: PARTNERS_TABLE,
  schema: partnerRecordSchema,
  columns: {
    name: (record) => record.name,
    email: (record) => record.email ?? '',
    country: (record) => record.country ?? '',
    tenant_id: (record) => record.tenantId ?? '',
    group_id: (record) => numberOrZero('partnerGroup', record.groupId),
    program_id: (record) => numberOrZero('program', record.programId),
    partner_tag_ids: (record) => record.partnerTagIds.map((id) => numberOf('partnerTag', id)),
    status: (record) => record.status,
  },
  names: ({ workspaceId, email, tenantId }) => [
    ...(email === null ? [] : [partnerEmail(workspaceId, email)]),
    ...(tenantId === null ? [] : [partnerTenantId(workspaceId, tenantId)]),
  ],
  // As long as for links, because redirects of partner links read the partner.
  staleMsMax: DAY_MS,
};

export const exportJobType: EntityType<ExportJobRecord> = {
  resource: 'exportJob',
  table: EXPORT_JOBS_TABLE,
  schema: exportJobRecordSchema,
  columns: {
    status: (record) => record.status,
    resource: (record) => record.resource,
    hides_folders: (record) => (record.hidesFolders ? 1 : 0),
    hides_passwords: (record) => (record.hidesPasswords ? 1 : 0),
    unreported: (record) => (record.isUnreported ? 1 : 0),
  },
  names: () => [],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const exportScheduleType: EntityType<ExportScheduleRecord> = {
  resource: 'exportSchedule',
  table: EXPORT_SCHEDULES_TABLE,
  schema: exportScheduleRecordSchema,
  columns: {
    resource: (record) => record.resource,
    hides_folders: (record) => (record.hidesFolders ? 1 : 0),
    hides_passwords: (record) => (record.hidesPasswords ? 1 : 0),
    disabled: (record) => (record.disabledAt === null ? 0 : 1),
    unreported: (record) => (record.unreported === null ? 0 : 1),
  },
  names: () => [],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const importJobType: EntityType<ImportJobRecord> = {
  resource: 'importJob',
  table: IMPORT_JOBS_TABLE,
  schema: importJobRecordSchema,
  columns: {
    status: (record) => record.status,
    hides_folders: (record) => (record.hidesFolders ? 1 : 0),
    hides_passwords: (record) => (record.hidesPasswords ? 1 : 0),
    has_files: (record) => (record.files.length > 0 ? 1 : 0),
    unreported: (record) => (record.isUnreported ? 1 : 0),
  },
  names: () => [],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const erasureType: EntityType<ErasureRecord> = {
  resource: 'erasure',
  table: ERASURES_TABLE,
  schema: erasureRecordSchema,
  columns: {
    status: (record) => record.status,
    subject_hash: (record) => record.subjectHash ?? '',
    customer_ids: (record) => record.customerIds.map((id) => numberOf('customer', id)),
  },
  names: () => [],
  isNumerous: true,
  staleMsMax: CREDENTIAL_STALE_MS,
};

/** Whether the link is the root link of its domain. */
export function isRootLink(record: LinkRecord): boolean {
  return record.key === ROOT_KEY;
}
