import { ApiError, createResourceId, type Role, type Scope } from '@waymark/contract';
import { keyHash } from '../model/entity-types.js';
import type { ApiKeyRecord, WorkspaceRecord } from '../model/record-schemas.js';
import { createToken, hashToken, partialToken, type TokenKind } from '../model/tokens.js';
import type { RecordStore } from '../store/record-store.js';

const KEYS_MAX = 100;

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

/** A new key with its token, which cannot be read later: the record contains only its hash. */
export interface IssuedKey {
  readonly record: ApiKeyRecord;
  readonly token: string;
}

/** Creates a key and its token without storing them. */
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

/** A key, possibly expired (callers check that, to send their own error), with its workspace if that still exists. */
export interface Authenticated {
  readonly key: ApiKeyRecord;
  readonly workspace: WorkspaceRecord | undefined;
}

export function createKeys(
  store: RecordStore<ApiKeyRecord>,
  workspaces: { get(id: string): Promise<WorkspaceRecord | undefined> },
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
      if ((await list(workspaceId)).length >= KEYS_MAX) {
        throw new ApiError('forbidden', `A workspace has at most ${KEYS_MAX} keys.`);
      }
      const issued = draftKey(workspaceId, rest, now());
      await store.create(issued.record);
      return issued;
    },

    list,

    /** Undefined when it was revoked. */
    get: (workspaceId: string, id: string): Promise<ApiKeyRecord | undefined> => store.get(workspaceId, id),

    /** @throws ApiError not_found */
    async revoke(workspaceId: string, id: string): Promise<void> {
      const removed = await store.remove(workspaceId, id);
      if (removed === undefined) throw new ApiError('not_found', 'API key not found.');
    },
  };
}
