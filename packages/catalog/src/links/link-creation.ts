import { ApiError, ROOT_KEY, trimCharacter } from '@waymark/contract';
import { linkAddresses, linkExternalId } from '../model/entity-types.js';
import type { CatalogLogger } from '../model/errors.js';
import { checkKey } from '../model/link-key.js';
import type { LinkRecord } from '../model/record-schemas.js';
import type { SecretBox } from '../secrets/secret-box.js';
import type { RecordStore } from '../store/record-store.js';
import { NameTakenError } from '../store/write-context.js';
import { type NewLink, newLinkRecord, randomKey } from './new-link-record.js';

/** How many random keys are tried before a link is refused. */
const RANDOM_KEY_TRIES = 8;
/** A random key with so many characters is almost certainly free: there are 62^7 of them, and a workspace uses few. */
const LIKELY_FREE_CHARS = 7;

/** The fields of a link that must be unique. */
type LinkNames = Pick<NewLink, 'domain' | 'key' | 'externalId'>;

/** Converts a NameTakenError into a `conflict` whose message says what is taken; returns other errors unchanged. */
export function linkConflict(err: unknown, { domain, key, externalId }: LinkNames): unknown {
  if (!(err instanceof NameTakenError)) return err;
  const message =
    err.taken.kind === 'link'
      ? `Duplicate key: the link ${domain}/${trimCharacter(key ?? '', '/') || ROOT_KEY} already exists.`
      : `A link with the externalId "${externalId ?? ''}" already exists in this workspace.`;
  return new ApiError('conflict', message, { cause: err });
}

function isTakenKey(err: unknown): boolean {
  return err instanceof NameTakenError && err.taken.kind === 'link';
}

/** Whether the names of the link are random, and so long that they are almost certainly free; short random keys are often taken. */
function hasRandomNames({ key, keyLength, externalId }: NewLink): boolean {
  return key === undefined && !externalId && (keyLength === undefined || keyLength >= LIKELY_FREE_CHARS);
}

/** Dependencies of {@link createLinkCreation}. */
export interface LinkCreationDeps {
  readonly store: RecordStore<LinkRecord>;
  readonly secrets: SecretBox;
  readonly logger: CatalogLogger;
  readonly now: () => number;
}

/** Creates links. A random key that is taken is replaced by another random one. */
export function createLinkCreation({ store, secrets, logger, now }: LinkCreationDeps) {
  /** Makes the record of a new link, with a random key if the input has none. */
  function draft(workspaceId: string, input: NewLink): LinkRecord {
    const { keyLength: _length, prefix: _prefix, password, ...fields } = input;
    const record = newLinkRecord(workspaceId, { ...fields, key: input.key ?? randomKey(input) }, now());
    return { ...record, encryptedPassword: password ? secrets.seal(password, record.id) : null };
  }

  /** Tries once to create each link, all in one insert. */
  async function attempt(workspaceId: string, inputs: readonly NewLink[]): Promise<(LinkRecord | ApiError)[]> {
    const drafts = inputs.map((input) => ({
      record: draft(workspaceId, input),
      hasRandomNames: hasRandomNames(input),
    }));
    const faults = await store.createMany(workspaceId, drafts);
    return drafts.map(({ record }, index) => faults[index] ?? record);
  }

  /**
   * Creates those of the links whose names are free, in one insert unless a random key was taken and must be replaced.
   *
   * @returns for each input the link or the error: unprocessable_entity or forbidden (key), conflict (key or
   *   externalId taken), internal_server_error (the store of links with another random key failed after others were created)
   */
  async function createMany(
    workspaceId: string,
    inputs: readonly NewLink[],
  ): Promise<readonly (LinkRecord | ApiError)[]> {
    const results: (LinkRecord | ApiError | undefined)[] = inputs.map(keyFault);
    for (let tries = 0; tries < RANDOM_KEY_TRIES; tries++) {
      const open = inputs.flatMap((input, index) => (results[index] === undefined ? [{ input, index }] : []));
      if (open.length === 0) break;
      const made = await attempt(
        workspaceId,
        open.map(({ input }) => input),
      ).catch((err: unknown) => {
        if (tries === 0 || !(err instanceof ApiError)) throw err;
        // The links of earlier attempts exist, so they are in the answer, and the request does not fail.
        const line = { err: err.cause ?? err, context: err.context, workspaceId, links: open.length };
        logger.warn(line, 'links of a bulk creation could not be stored with other random keys');
        return open.map(() => err);
      });
      open.forEach(({ input, index }, place) => {
        const result = made[place];
        if (input.key === undefined && isTakenKey(result)) return;
        results[index] = result instanceof ApiError ? (linkConflict(result, input) as ApiError) : result;
      });
    }
    return results.map((result) => result ?? noFreeKey());
  }

  /** @throws ApiError unprocessable_entity or forbidden for a malformed key, or a malformed prefix of a random key */
  function checkKeyOf(input: NewLink): void {
    if (input.key === undefined) checkKey(randomKey(input), 'prefix');
    else checkKey(input.key);
  }

  /** The error of {@link checkKeyOf}, if any. */
  function keyFault(input: NewLink): ApiError | undefined {
    try {
      checkKeyOf(input);
      return undefined;
    } catch (err) {
      if (err instanceof ApiError) return err;
      throw err;
    }
  }

  function noFreeKey(): ApiError {
    return new ApiError('conflict', 'No free key of that length was found; ask for a longer one.');
  }

  return {
    createMany,

    /** Creates a link. @throws ApiError unprocessable_entity or forbidden (key), conflict (key or externalId taken) */
    async create(workspaceId: string, input: NewLink): Promise<LinkRecord> {
      checkKeyOf(input);
      for (let tries = 0; tries < RANDOM_KEY_TRIES; tries++) {
        try {
          return await store.create(draft(workspaceId, input), hasRandomNames(input));
        } catch (err) {
          if (input.key !== undefined || !isTakenKey(err)) throw linkConflict(err, input);
        }
      }
      throw noFreeKey();
    },

    /** Checks, without caches, that the names of a link are free. @throws ApiError conflict when the key or the externalId is taken */
    async assertFree(workspaceId: string, input: LinkNames): Promise<void> {
      const { domain, key, externalId } = input;
      const names = [
        ...(key === undefined ? [] : linkAddresses(domain, key)),
        ...(externalId ? [linkExternalId(workspaceId, externalId)] : []),
      ];
      for (const name of names) {
        if ((await store.findOwnerUncached(name)) !== undefined) throw linkConflict(new NameTakenError(name), input);
      }
    },
  };
}
