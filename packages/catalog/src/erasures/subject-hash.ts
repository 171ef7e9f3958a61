import { createHmac } from 'node:crypto';

/** Hashes of external ids of erased customers: the id itself must not be stored. */
export interface SubjectHash {
  /** The hash to store. */
  current(workspaceId: string, externalId: string): string;
  /** The hashes with every accepted key, `current` first. */
  all(workspaceId: string, externalId: string): readonly string[];
}

/**
 * HMAC-SHA-256 of workspace and external id, so that nobody without the instance key can find an id by hashing candidates. A hash that was
 * made with a key which is not accepted any more is not found.
 */
export function createSubjectHash(instanceKey: Buffer, otherKeys: readonly Buffer[] = []): SubjectHash {
  const hashWith = (key: Buffer, workspaceId: string, externalId: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify(['erasure', workspaceId, externalId]))
      .digest('base64url');
  return {
    current: (workspaceId, externalId) => hashWith(instanceKey, workspaceId, externalId),
    all: (workspaceId, externalId) => [instanceKey, ...otherKeys].map((key) => hashWith(key, workspaceId, externalId)),
  };
}
