import type { LinkRecord } from '@waymark/catalog';
import { ApiError, type Link } from '@waymark/contract';

const ATTEMPTS = 5;

/** What an upsert does. */
export interface Upsert {
  readonly find: () => Promise<LinkRecord | undefined>;
  /** Resolves with undefined, and changes nothing, if `find` would not find the link any more. */
  readonly update: (found: LinkRecord) => Promise<Link | undefined>;
  readonly create: () => Promise<Link>;
}

/**
 * Updates the link that `find` finds, or creates one. Call it under a lock on what `find` searches (`underLinkLocks`): otherwise each of two
 * concurrent requests could create a link. If another request removes the link, or changes that by which it was found, before it is
 * updated, it is looked up again: the other request was answered, so its change stays.
 *
 * @throws ApiError conflict when that has happened five times
 */
export async function updateOrCreate({ find, update, create }: Upsert): Promise<Link> {
  for (let rest = ATTEMPTS; rest > 0; rest--) {
    const found = await find();
    if (found === undefined) return create();
    const updated = await update(found);
    if (updated !== undefined) return updated;
  }
  throw new ApiError('conflict', 'The link was changed by other requests at the same time. Repeat the request.');
}
