import { ApiError, createResourceId, type Role, type Scope } from '@waymark/contract';
import { keyHash } from '../model/entity-types.js';
import { isExpired } from '../model/is-expired.js';
import type { ApiKeyRecord, WorkspaceRecord } from '../model/record-schemas.js';
import { createToken, hashToken, partialToken, type TokenKind } from '../model/tokens.js';
import type { QuotaCounters } from '../redis/quotas.js';
import type { RecordStore } from '../store/record-store.js';

/** Maximum number of API keys of a workspace. */
const KEYS_MAX = 100;

/** The fields of a new API key. */
export interface NewKey {
  readonly name: string;
  readonly kind: TokenKind;
  readonly role: Role;
  /** Empty = everything that the role allows. */
  readonly scopes: readonly Scope[];
  readonly userId?: string | null;
  /** ISO-8601 UTC. */
  readonly expiresAt?: string | null;
}

/** A new key with its token. The token cannot be read later, because the record contains only its hash. */
export interface IssuedKey {
  readonly record: ApiKeyRecord;
  readonly token: string;
}

/** Makes the record of a new key, and its token. Stores nothing. */
export function draftKey(workspaceId: string, input: NewKey, nowMs: number): IssuedKey {
  const token = createToken(input.kind);
  const time = new Date(nowMs).toISOString();
  const record: ApiKeyRecord = {
    id: createResourceId('apiKey', nowMs),
    workspaceId,
    createdAt: time,
    updatedAt: time,
    name: input.name,
    keyHash: hashToken(token),
    partialKey: partialToken(token),
    kind: input.kind,
    role: input.role,
    scopes: [...input.scopes],
    userId: input.userId ?? null,
    expiresAt: input.expiresAt ?? null,
  };
  return { record, token };
}

/** An API key and its workspace, with whose rights a request or a job runs. */
export interface KeyCaller {
  readonly apiKey: ApiKeyRecord;
  readonly workspace: WorkspaceRecord;
}

/** A key that may have expired, which callers check to send an error of their own, and its workspace, if that still exists. */
export interface Authenticated {
  readonly key: ApiKeyRecord;
  readonly workspace: WorkspaceRecord | undefined;
}

/** The operations on API keys (docs/reference/access.md). */
export function createKeys(
  store: RecordStore<ApiKeyRecord>,
  workspaces: { get(id: string): Promise<WorkspaceRecord | undefined> },
  quotas: QuotaCounters,
  now: () => number,
) {
  /** The workspace's keys, oldest first. */
  async function list(workspaceId: string): Promise<ApiKeyRecord[]> {
    return (await store.table.select(workspaceId, 'ORDER BY id', {})).map(({ record }) => record);
  }

  return {
    /** Finds the key of a token, secret or publishable; undefined when there is none or it was revoked. */
    async authenticate(token: string): Promise<Authenticated | undefined> {
      const key = await store.findByName(keyHash(hashToken(token)));
      return key && { key, workspace: await workspaces.get(key.workspaceId) };
    },

    /** @throws ApiError forbidden when the workspace has reached the maximum number of keys */
    async create(input: NewKey & { readonly workspaceId: string }): Promise<IssuedKey> {
      const { workspaceId, ...rest } = input;
      const issued = draftKey(workspaceId, rest, now());
      const request = {
        workspaceId,
        what: store.kind.table,
        amount: 1,
        limit: KEYS_MAX,
        used: async () => (await list(workspaceId)).filter((key) => !isExpired(key, now())).length,
        refusal: () => new ApiError('forbidden', `A workspace has at most ${KEYS_MAX} keys.`),
      };
      await quotas.within(request, () => store.create(issued.record));
      return issued;
    },

    list,

    /** The key with that id; undefined when there is none or it was revoked. */
    get: (workspaceId: string, id: string): Promise<ApiKeyRecord | undefined> => store.get(workspaceId, id),

    /** Revokes a key. @throws ApiError not_found */
    async revoke(workspaceId: string, id: string): Promise<void> {
      const removed = await store.remove(workspaceId, id);
      if (removed === undefined) throw new ApiError('not_found', 'API key not found.');
    },
  };
}
