import { createResourceId } from '@waymark/contract';
import { storedKey } from '../model/link-key.js';
import type { LinkRecord } from '../model/record-schemas.js';
import { randomText } from '../model/tokens.js';
import { readUtm } from './link-url.js';

const RANDOM_KEY_CHARS = 7;

type LinkFields = Omit<
  LinkRecord,
  'id' | 'workspaceId' | 'createdAt' | 'updatedAt' | 'domain' | 'key' | 'url' | 'encryptedPassword' | `utm_${string}`
>;

/** A new link; fields that are left out default to none. The `utm_*` fields are read from the destination. */
export type LinkDraft = Partial<LinkFields> & {
  readonly domain: string;
  readonly key: string;
  /** Normalised, with its UTM parameters. */
  readonly url: string;
  /** For links of other systems; default: now. ISO 8601 UTC with milliseconds. */
  readonly createdAt?: string | undefined;
};

export type NewLink = Omit<LinkDraft, 'key'> & {
  /** Default: a random key. */
  readonly key?: string | undefined;
  readonly keyLength?: number | undefined;
  /** Put in front of a random key, with a slash. */
  readonly prefix?: string | undefined;
  readonly password?: string | null | undefined;
};

/** A link that is not stored yet. */
export function draftLink(workspaceId: string, input: LinkDraft, nowMs: number): LinkRecord {
  const time = new Date(nowMs).toISOString();
  return {
    trackConversion: false,
    externalId: null,
    tenantId: null,
    programId: null,
    partnerId: null,
    archived: false,
    expiresAt: null,
    expiredUrl: null,
    disabledAt: null,
    proxy: false,
    title: null,
    description: null,
    image: null,
    video: null,
    rewrite: false,
    doIndex: false,
    ios: null,
    android: null,
    geo: null,
    publicStats: false,
    tagIds: [],
    folderId: null,
    comments: null,
    testVariants: null,
    testStartedAt: null,
    testCompletedAt: null,
    userId: null,
    webhookIds: [],
    ...input,
    ...readUtm(input.url),
    key: storedKey(input.key),
    encryptedPassword: null,
    id: createResourceId('link', nowMs),
    workspaceId,
    createdAt: input.createdAt ?? time,
    updatedAt: time,
  };
}

/** The key with the prefix in front; one slash at each end of the prefix is ignored. */
export function prefixedKey(prefix: string | null | undefined, key: string): string {
  const path = prefix?.replace(/^\/|\/$/g, '');
  return path ? `${path}/${key}` : key;
}

/** A random key, for a link whose request gives none. */
export function randomKey({ prefix, keyLength = RANDOM_KEY_CHARS }: Pick<NewLink, 'prefix' | 'keyLength'>): string {
  return prefixedKey(prefix, randomText(keyLength));
}
