import { setTimeout as delay } from 'node:timers/promises';
import { type Catalog, type LinkRecord, normaliseKey } from '@waymark/catalog';
import { groupBy } from '@waymark/contract';
import type { Logger } from '@waymark/http-kit';

export interface WarmUpOptions {
  readonly catalog: {
    readonly links: Pick<Catalog['links'], 'mostVisited' | 'getMany' | 'findByAddress'>;
    readonly domains: Pick<Catalog['domains'], 'findBySlug'>;
    readonly workspaces: Pick<Catalog['workspaces'], 'forVisit'>;
  };
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly now?: () => number;
  /** How long it takes at most; five seconds by default. */
  readonly limitMs?: number;
}

/** A tenth of the links that the cache of a process has room for. They have most of the visits. */
const LINKS_MAX = 5_000;
const VISITED_WITHIN_MS = 24 * 3_600_000;
const LIMIT_MS = 5_000;
const LOOK_UPS_AT_ONCE = 50;

/** Calls `work` with each item, fifty at a time, until the signal is aborted. An error ends only the work on its item. */
async function forEach<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const iterator = items.values();
  const workOn = async () => {
    for (const item of iterator) {
      if (signal.aborted) return;
      await work(item).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: LOOK_UPS_AT_ONCE }, workOn));
}

/**
 * Looks up the most visited links with their domains and workspaces, as redirects do, so that the caches of this process and of Redis have
 * them. Call it before the service listens. Resolves after `limitMs` at the latest, and never rejects: links that no cache has by then are
 * read at their first visit.
 *
 * @returns how many links were read
 */
export async function warmCaches(options: WarmUpOptions): Promise<number> {
  const { catalog, logger, now = Date.now, limitMs = LIMIT_MS } = options;
  const limit = new AbortController();
  const startedMs = performance.now();
  let count = 0;

  async function warm(): Promise<void> {
    const links = await catalog.links.mostVisited({ since: new Date(now() - VISITED_WITHIN_MS), limit: LINKS_MAX });
    const byWorkspace = groupBy(links, ({ workspaceId }) => workspaceId);
    await forEach([...byWorkspace], limit.signal, async ([workspaceId, some]) => {
      const ids = some.map(({ id }) => id);
      const records = await catalog.links.getMany(workspaceId, ids);
      await warmLinks(workspaceId, [...records.values()]);
    });
  }

  async function warmLinks(workspaceId: string, records: readonly LinkRecord[]): Promise<void> {
    await catalog.workspaces.forVisit(workspaceId);
    const domains = [...new Set(records.map(({ domain }) => domain))];
    await forEach(domains, limit.signal, (domain) => catalog.domains.findBySlug(domain));
    await forEach(records, limit.signal, async ({ domain, key }) => {
      if ((await catalog.links.findByAddress(domain, normaliseKey(key))) !== undefined) count += 1;
    });
  }

  const report = () => ({ links: count, ms: Math.round(performance.now() - startedMs) });
  await Promise.race([
    warm().then(
      () => {
        // At the time limit the other branch has logged that links are missing.
        if (!limit.signal.aborted) logger.info(report(), 'the caches have the most visited links');
      },
      (err: unknown) => {
        if (limit.signal.aborted) return;
        logger.warn({ err, ...report() }, 'the caches could not be filled; links are read when visited');
      },
    ),
    delay(limitMs, undefined, { signal: limit.signal }).then(
      () => logger.warn(report(), 'filling the caches was ended at its time limit; other links are read when visited'),
      () => undefined,
    ),
  ]);
  limit.abort();
  return count;
}
