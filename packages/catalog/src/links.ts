import { ApiError, createResourceId, type Link, type Tag } from '@waymark/contract';
import type { Counters, LinkCounters } from './counters.js';
import { linkAddress, linkExternalId } from './kinds.js';
import { checkKey, normaliseKey, storedKey } from './link-key.js';
import { linkObject } from './link-object.js';
import { readUtm } from './link-url.js';
import type { ReadOptions } from './record-reader.js';
import type { RecordStore } from './record-store.js';
import type { LinkRecord } from './records.js';
import type { SecretBox } from './secret-box.js';
import { randomText } from './tokens.js';
import { NameTakenError } from './write-parts.js';

const RANDOM_KEY_CHARS = 7;
const RANDOM_KEY_TRIES = 8;

type LinkFields = Omit<
  LinkRecord,
  'id' | 'workspaceId' | 'createdAt' | 'updatedAt' | 'domain' | 'key' | 'url' | 'encryptedPassword' | `utm_${string}`
>;

/** What a new link must say; the rest defaults to none. The `utm_*` fields are read from the destination. */
export type LinkDraft = Partial<LinkFields> & {
  readonly domain: string;
  readonly key: string;
  /** Final: normalised, with its UTM parameters. */
  readonly url: string;
};

export type NewLink = Omit<LinkDraft, 'key'> & {
  /** Left out: a random one. */
  readonly key?: string | undefined;
  readonly keyLength?: number | undefined;
  /** In front of a random key, with a slash. */
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
    createdAt: time,
    updatedAt: time,
  };
}

function randomKey({ prefix, keyLength = RANDOM_KEY_CHARS }: NewLink): string {
  const random = randomText(keyLength);
  return prefix === undefined ? random : `${prefix.replace(/^\/|\/$/g, '')}/${random}`;
}

export interface LinksParts {
  readonly store: RecordStore<LinkRecord>;
  readonly hotRead: ReadOptions;
  readonly counters: Counters;
  readonly secrets: SecretBox;
  readonly baseUrl: string;
  readonly now: () => number;
}

export function createLinks({ store, hotRead, counters, secrets, baseUrl, now }: LinksParts) {
  async function createWithKey(workspaceId: string, input: NewLink, key: string): Promise<LinkRecord> {
    const { keyLength: _length, prefix: _prefix, password, ...fields } = input;
    const draft = draftLink(workspaceId, { ...fields, key }, now());
    const encryptedPassword = password ? secrets.seal(password, draft.id) : null;
    return store.create({ ...draft, encryptedPassword });
  }

  async function createWithRandomKey(workspaceId: string, input: NewLink): Promise<LinkRecord> {
    for (let attempt = 0; attempt < RANDOM_KEY_TRIES; attempt++) {
      try {
        return await createWithKey(workspaceId, input, randomKey(input));
      } catch (err) {
        if (!(err instanceof NameTakenError) || err.taken.kind !== 'link') throw err;
      }
    }
    throw new ApiError('conflict', 'No free key of that length was found; ask for a longer one.');
  }

  function conflictOf(err: unknown, input: Pick<NewLink, 'domain' | 'key' | 'externalId'>): unknown {
    if (!(err instanceof NameTakenError)) return err;
    const message =
      err.taken.kind === 'link'
        ? `Duplicate key: the link ${input.domain}/${input.key ?? ''} already exists.`
        : `A link with the externalId "${input.externalId ?? ''}" already exists in this workspace.`;
    return new ApiError('conflict', message, { cause: err });
  }

  function passwordOf(record: LinkRecord): string | null {
    return record.encryptedPassword === null ? null : secrets.open(record.encryptedPassword, record.id);
  }

  return {
    /**
     * Redirect path: this process, Redis, ClickHouse; a stale copy rather than an error.
     *
     * @param domain lower case, without `www.`
     * @param key as `normaliseKey` gives it
     * @param options.limitMs a second unless the caller has more time than a redirect
     */
    findByAddress(domain: string, key: string, options: ReadOptions = hotRead): Promise<LinkRecord | undefined> {
      return store.findByName(linkAddress(domain, key), options);
    },

    /** @param externalId bare, without `ext_` */
    findByExternalId(workspaceId: string, externalId: string): Promise<LinkRecord | undefined> {
      return store.findByName(linkExternalId(workspaceId, externalId));
    },

    get: store.get,
    getMany: store.getMany,

    /**
     * @throws ApiError unprocessable_entity or forbidden (key), conflict (key or externalId taken)
     */
    async create(workspaceId: string, input: NewLink): Promise<LinkRecord> {
      checkKey(input.key ?? randomKey(input));
      try {
        return input.key === undefined
          ? await createWithRandomKey(workspaceId, input)
          : await createWithKey(workspaceId, input, input.key);
      } catch (err) {
        throw conflictOf(err, input);
      }
    },

    /** @throws ApiError conflict when the key or the externalId is taken at this moment */
    async assertFree(workspaceId: string, input: Pick<NewLink, 'domain' | 'key' | 'externalId'>): Promise<void> {
      const { domain, key, externalId } = input;
      const names = [
        ...(key === undefined ? [] : [linkAddress(domain, normaliseKey(key))]),
        ...(externalId ? [linkExternalId(workspaceId, externalId)] : []),
      ];
      for (const name of names) {
        if ((await store.ownerInTables(name)) !== undefined) throw conflictOf(new NameTakenError(name), input);
      }
    },

    /** Changes fields under a lock: none that another change set is lost. @throws ApiError not_found, conflict */
    async update(workspaceId: string, id: string, change: (record: LinkRecord) => LinkRecord): Promise<LinkRecord> {
      const updated = await store.update(workspaceId, id, (record) => ({
        ...change(record),
        updatedAt: new Date(now()).toISOString(),
      }));
      if (updated === undefined) throw new ApiError('not_found', 'Link not found.');
      return updated;
    },

    /** Links made since then, root links apart, removed ones included: what counts against the plan (spec 9). */
    createdSince(workspaceId: string, sinceMs: number): Promise<number> {
      return store.table.countEver(workspaceId, BigInt(sinceMs) << 22n, "AND key != '_root'");
    },

    /** The counters of each link that has events. */
    counters: counters.links,

    passwordOf,

    /** The link object of every response (spec 2.8). */
    toLink(record: LinkRecord, linkCounters?: LinkCounters, tags: readonly Tag[] = []): Link {
      return linkObject(record, { baseUrl, password: passwordOf(record), counters: linkCounters, tags });
    },
  };
}
