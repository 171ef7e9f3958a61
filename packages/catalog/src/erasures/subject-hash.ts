import { createHmac } from 'node:crypto';

/** Hashes the external ids of erased customers, because the ids themselves must not be stored. */
export interface SubjectHash {
  /** The hash with the current instance key, which is stored. */
  current(workspaceId: string, externalId: string): string;
  /** The hashes with all accepted keys, `current` first; stored hashes are looked up with them. */
  all(workspaceId: string, externalId: string): readonly string[];
}

/**
 * Creates a {@link SubjectHash}: HMAC-SHA-256 of workspace and external id, so that an id can be found by hashing candidates only with the
 * instance key. Hashes of a key that is not accepted any more are not found.
 */
export function createSubjectHash(instanceKey: Buffer, otherKeys: readonly Buffer[]): SubjectHash {
  const hashWith = (key: Buffer, workspaceId: string, externalId: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify(['erasure', workspaceId, externalId]))
      .digest('base64url');
  return {
    current: (workspaceId, externalId) => hashWith(instanceKey, workspaceId, externalId),
    all: (workspaceId, externalId) => [instanceKey, ...otherKeys].map((key) => hashWith(key, workspaceId, externalId)),
  };
}
