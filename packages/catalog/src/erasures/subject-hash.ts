import { createHmac } from 'node:crypto';

/** Says which hashes an external id may have been stored under. */
export interface SubjectHash {
  /** The hash to store. */
  current(workspaceId: string, externalId: string): string;
  /** The hashes with every accepted key, `current` first. */
  all(workspaceId: string, externalId: string): readonly string[];
}

/** HMAC-SHA-256 of workspace and external id: without the instance key nobody can try ids. Only hashes with accepted keys are found. */
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
