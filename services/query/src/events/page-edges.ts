import { createHash } from 'node:crypto';
import { type BoundRequest, type FirstPageHint, hintOf, listKey, narrowToHint } from '@waymark/event-query';
import { LRUCache } from 'lru-cache';
import type { EventPageRow } from './event-text.js';

const LISTS_KEPT = 20_000;

/** What is known of one list's first page. */
export interface FirstPage {
  /** Where to look for it first; undefined = not known. */
  readonly near: BoundRequest | undefined;
  /** To be called with the page. */
  remember(rows: readonly EventPageRow[]): void;
}

const OTHER_PAGE: FirstPage = { near: undefined, remember: () => undefined };

/**
 * Remembers how far the first pages of lists reached, for those who ask again. Only where to look first depends on it, never
 * the answer.
 */
export interface PageEdges {
  of(bound: BoundRequest): FirstPage;
}

export function createPageEdges(): PageEdges {
  const edges = new LRUCache<string, FirstPageHint>({ max: LISTS_KEPT });
  return {
    of(bound) {
      const text = listKey(bound);
      if (text === undefined) return OTHER_PAGE;
      // Lists of links make the text long.
      const key = createHash('sha1').update(text).digest('base64');
      const edge = edges.get(key);
      const near = edge && narrowToHint(bound, edge);
      return {
        near,
        remember(rows) {
          const last = rows[bound.page.limit - 1];
          if (last !== undefined) edges.set(key, hintOf(bound, Date.parse(last[1])));
          // Some of it were taken away: it would be looked for in vain each time.
          else if (near !== undefined) edges.delete(key);
        },
      };
    },
  };
}
