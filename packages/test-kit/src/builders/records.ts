import {
  type ApiKeyRecord,
  type CustomerRecord,
  type DomainRecord,
  draftCustomer,
  draftDomain,
  type LinkRecord,
  newLinkRecord,
  type WorkspaceRecord,
} from '@waymark/catalog';
import { createResourceId, formatResourceId } from '@waymark/contract';
import { BUILDER_TIME_MS } from './event-builders.js';

/** The workspace of built records and events: number 1. */
export const BUILDER_WORKSPACE_ID = formatResourceId('workspace', '1');

const TIME = new Date(BUILDER_TIME_MS).toISOString();

/** A workspace on the enterprise plan. */
export function aWorkspaceRecord(fields: Partial<WorkspaceRecord> = {}): WorkspaceRecord {
  const id = fields.id ?? BUILDER_WORKSPACE_ID;
  return {
    id,
    workspaceId: id,
    createdAt: TIME,
    updatedAt: TIME,
    name: 'Acme',
    slug: 'acme',
    plan: 'enterprise',
    allowedHostnames: [],
    requestsPerMinute: null,
    analyticsPerSecond: null,
    quotas: {},
    defaultProgramId: null,
    publishableKeyHash: null,
    ...fields,
  };
}

/** A secret key without scopes, of an owner: it has all permissions. */
export function anApiKeyRecord(fields: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    id: createResourceId('apiKey', BUILDER_TIME_MS),
    workspaceId: BUILDER_WORKSPACE_ID,
    createdAt: TIME,
    updatedAt: TIME,
    name: 'Test key',
    keyHash: 'a'.repeat(64),
    partialKey: 'dub...abcd',
    kind: 'secret',
    role: 'owner',
    scopes: [],
    userId: null,
    expiresAt: null,
    ...fields,
  };
}

/** The primary domain `go.acme.com`. */
export function aDomainRecord(fields: Partial<DomainRecord> = {}): DomainRecord {
  return { ...draftDomain(BUILDER_WORKSPACE_ID, { slug: 'go.acme.com', primary: true }, BUILDER_TIME_MS), ...fields };
}

/** The link `go.acme.com/try` to `https://acme.com/try`; by default its id is new. */
export function aLinkRecord(fields: Partial<LinkRecord> = {}): LinkRecord {
  const draft = { domain: 'go.acme.com', key: 'try', url: 'https://acme.com/try' };
  return { ...newLinkRecord(BUILDER_WORKSPACE_ID, draft, BUILDER_TIME_MS), ...fields };
}

/** The customer Ada, `user_42`; by default its id is new. */
export function aCustomerRecord(fields: Partial<CustomerRecord> = {}): CustomerRecord {
  const draft = { externalId: 'user_42', name: 'Ada', email: 'ada@example.com', country: 'FR' };
  return { ...draftCustomer(BUILDER_WORKSPACE_ID, draft, BUILDER_TIME_MS), ...fields };
}
