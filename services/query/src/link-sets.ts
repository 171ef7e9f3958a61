import { createHash } from 'node:crypto';
import { type CatalogWatcher, FOLDERS_TABLE, LINKS_TABLE, PARTNERS_TABLE } from '@waymark/catalog';
import type { CompiledQuery, PlannerStats } from '@waymark/event-query';
import { LRUCache } from 'lru-cache';

/** Changes invalidate it; this is for invalidations that are lost. */
const KEPT_MS = 10_000;
/** Of all sets together: 20 MB. */
const LINKS_KEPT = 500_000;
const WORKSPACES_KEPT = 10_000;
/** What filters on links look at. */
const TABLES: ReadonlySet<string> = new Set([LINKS_TABLE, PARTNERS_TABLE, FOLDERS_TABLE]);

type LinkSet = Pick<PlannerStats, 'allowedLinks'>;

export interface LinkSetsParts {
  /** Whether invalidations are received; until then nothing is cached. */
  readonly isHearing: () => boolean;
  readonly now: () => number;
}

export interface LinkSetReading {
  /** Asks the database. */
  readonly read: () => Promise<LinkSet>;
  /** It pays the first time. */
  readonly isEager: boolean;
}

interface Entry {
  /** Undefined: it was needed, not read. */
  readonly set: LinkSet | undefined;
  readonly untilMs: number;
}

/** Which links a filter lets pass, as long as no link, partner or folder of the workspace changes. Watches the catalog's changes. */
export interface LinkSets extends CatalogWatcher {
  /** The links that a query finds, where they are worth asking for: at once, or when they are wanted again. */
  remembered(workspaceId: string, query: CompiledQuery, reading: LinkSetReading): Promise<LinkSet>;
}

/** A short name of a query with its parameters. */
export function queryKey({ sql, params }: CompiledQuery): string {
  const text = JSON.stringify([sql, params], (_name, value) => (typeof value === 'bigint' ? String(value) : value));
  return createHash('sha1').update(text).digest('base64');
}

export function createLinkSets({ isHearing, now }: LinkSetsParts): LinkSets {
  /** A number for the links of a workspace as they are: another once they change, so that no older set is found. */
  const generations = new LRUCache<string, number>({ max: WORKSPACES_KEPT });
  let lastGeneration = 0;
  const sets = new LRUCache<string, Entry>({
    maxSize: LINKS_KEPT,
    sizeCalculation: ({ set }) => 1 + (set?.allowedLinks?.length ?? 0),
  });

  function generationOf(workspaceId: string): number {
    const known = generations.get(workspaceId);
    if (known !== undefined) return known;
    lastGeneration += 1;
    generations.set(workspaceId, lastGeneration);
    return lastGeneration;
  }

  return {
    async remembered(workspaceId, query, { read, isEager }) {
      if (!isHearing()) return isEager ? read() : {};
      const key = `${generationOf(workspaceId)}/${queryKey(query)}`;
      const untilMs = now() + KEPT_MS;
      const known = sets.get(key);
      const isKnown = known !== undefined && now() < known.untilMs;
      if (isKnown && known.set !== undefined) return known.set;
      const set = isKnown || isEager ? await read() : undefined;
      sets.set(key, { set, untilMs });
      return set ?? {};
    },

    changed({ records }) {
      for (const { table, workspaceId } of records) {
        if (TABLES.has(table)) generations.delete(workspaceId);
      }
    },

    missed: () => generations.clear(),
  };
}
