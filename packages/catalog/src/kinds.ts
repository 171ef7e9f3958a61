import { ROOT_KEY } from '@waymark/contract';
import { type Kind, type Name, numberOf, numberOrZero } from './kind.js';
import { normaliseKey } from './link-key.js';
import {
  type ApiKeyRecord,
  apiKeyRecordSchema,
  type CustomerRecord,
  customerRecordSchema,
  type DomainRecord,
  domainRecordSchema,
  type LinkRecord,
  linkRecordSchema,
  type WorkspaceRecord,
  workspaceRecordSchema,
} from './records.js';

const DAY_MS = 24 * 3_600_000;
/** Credentials and plans must not outlive their withdrawal for long, even while both stores are away. */
const CREDENTIAL_STALE_MS = 600_000;

/** Names without a scope are unique in the whole installation. */
export const workspaceSlug = (slug: string): Name => ({ kind: 'workspace', scope: '', name: slug });
export const keyHash = (hash: string): Name => ({ kind: 'key', scope: '', name: hash });
export const domainHost = (slug: string): Name => ({ kind: 'domain', scope: '', name: slug });
/** @param lookupKey the key as {@link normaliseKey} gives it */
export const linkAddress = (domain: string, lookupKey: string): Name => ({
  kind: 'link',
  scope: domain,
  name: lookupKey,
});
export const linkExternalId = (workspaceId: string, externalId: string): Name => ({
  kind: 'link-external-id',
  scope: numberOf('workspace', workspaceId),
  name: externalId,
});
export const customerExternalId = (workspaceId: string, externalId: string): Name => ({
  kind: 'customer',
  scope: numberOf('workspace', workspaceId),
  name: externalId,
});

export const workspaceKind: Kind<WorkspaceRecord> = {
  resource: 'workspace',
  table: 'workspaces',
  schema: workspaceRecordSchema,
  columns: { slug: (record) => record.slug, plan: (record) => record.plan },
  names: (record) => [workspaceSlug(record.slug)],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const apiKeyKind: Kind<ApiKeyRecord> = {
  resource: 'apiKey',
  table: 'api_keys',
  schema: apiKeyRecordSchema,
  columns: { key_hash: (record) => record.keyHash },
  names: (record) => [keyHash(record.keyHash)],
  staleMsMax: CREDENTIAL_STALE_MS,
};

export const domainKind: Kind<DomainRecord> = {
  resource: 'domain',
  table: 'domains',
  schema: domainRecordSchema,
  columns: { slug: (record) => record.slug, archived: (record) => (record.archived ? 1 : 0) },
  names: (record) => [domainHost(record.slug)],
  staleMsMax: DAY_MS,
};

export const linkKind: Kind<LinkRecord> = {
  resource: 'link',
  table: 'links',
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
    const address = linkAddress(record.domain, normaliseKey(record.key));
    return record.externalId === null ? [address] : [address, linkExternalId(record.workspaceId, record.externalId)];
  },
  staleMsMax: DAY_MS,
};

export const customerKind: Kind<CustomerRecord> = {
  resource: 'customer',
  table: 'customers',
  schema: customerRecordSchema,
  columns: {
    external_id: (record) => record.externalId,
    email: (record) => record.email ?? '',
    country: (record) => record.country ?? '',
    link_id: (record) => numberOrZero('link', record.linkId),
  },
  names: (record) => [customerExternalId(record.workspaceId, record.externalId)],
  staleMsMax: CREDENTIAL_STALE_MS,
  isQueued: true,
};

/** Whether the link answers for its bare domain. */
export function isRootLink(record: LinkRecord): boolean {
  return record.key === ROOT_KEY;
}
