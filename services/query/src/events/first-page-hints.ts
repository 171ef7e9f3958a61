import { createHash } from 'node:crypto';
import { createLru } from '@waymark/cache';
import { type BoundRequest, type FirstPageHint, hintOf, listKey, narrowToHint } from '@waymark/event-query';
import type { EventPageRow } from './event-text.js';

const HINTS_MAX = 20_000;

/** The cached hint for one list. */
export interface FirstPage {
  /** The request with a narrower range, to be tried first; undefined = no hint. */
  readonly narrowed: BoundRequest | undefined;
  /** Updates the hint; call it with the rows of the page. */
  update(rows: readonly EventPageRow[]): void;
}

/** For pages other than the first. */
const NO_HINT: FirstPage = { narrowed: undefined, update: () => undefined };

/**
 * Caches the time bound of a list's first page, as a hint for the next request. A hint only affects the speed of a request, never
 * its result.
 */
export interface FirstPageHints {
  find(bound: BoundRequest): FirstPage;
}

/** Creates the hints of a process; there are none yet. */
export function createFirstPageHints(): FirstPageHints {
  const hints = createLru<string, FirstPageHint>(HINTS_MAX);
  return {
    find(bound) {
      const list = listKey(bound);
      if (list === undefined) return NO_HINT;
      // Hashed, because a request with many link ids has a long key.
      const key = createHash('sha1').update(list).digest('base64');
      const hint = hints.get(key);
      const narrowed = hint && narrowToHint(bound, hint);
      return {
        narrowed,
        update(rows) {
          const last = rows[bound.page.limit - 1];
          if (last !== undefined) hints.set(key, hintOf(bound, Date.parse(last[1])));
          // Less than a page is left in the narrowed range: the hint is outdated.
          else if (narrowed !== undefined) hints.delete(key);
        },
      };
    },
  };
}
