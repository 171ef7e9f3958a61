import { createResourceId } from '@waymark/contract';
import { isReservedKey, isServiceRoute, storedKey } from '../model/link-key.js';
import type { LinkRecord } from '../model/record-schemas.js';
import { randomText } from '../model/tokens.js';
import { readUtm } from './link-url.js';

const RANDOM_KEY_CHARS = 7;

type LinkFields = Omit<
  LinkRecord,
  'id' | 'workspaceId' | 'createdAt' | 'updatedAt' | 'domain' | 'key' | 'url' | 'encryptedPassword' | `utm_${string}`
>;

/** The fields of a new link; absent ones have no value. The `utm_*` fields are read from the destination. */
export type LinkDraft = Partial<LinkFields> & {
  readonly domain: string;
  readonly key: string;
  /** Normalised, with its UTM parameters. */
  readonly url: string;
  /** ISO 8601 UTC with milliseconds; set for links that are imported, now by default. */
  readonly createdAt?: string | undefined;
};

/** A link to create: like {@link LinkDraft}, with a password in the clear, and possibly with a random key. */
export type NewLink = Omit<LinkDraft, 'key'> & {
  /** Default: a random key. */
  readonly key?: string | undefined;
  readonly keyLength?: number | undefined;
  /** Path that is put in front of a random key. */
  readonly prefix?: string | undefined;
  readonly password?: string | null | undefined;
};

/** Makes the record of a new link, with a new id and without password. Stores nothing. */
export function newLinkRecord(workspaceId: string, input: LinkDraft, nowMs: number): LinkRecord {
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

/** A random key, for a link whose request has none; seven characters by default. Never one that no request may choose. */
export function randomKey({ prefix, keyLength = RANDOM_KEY_CHARS }: Pick<NewLink, 'prefix' | 'keyLength'>): string {
  for (;;) {
    const key = prefixedKey(prefix, randomText(keyLength));
    if (!isReservedKey(key) && !isServiceRoute(key)) return key;
  }
}
