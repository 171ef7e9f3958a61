import { type ChangeFeed, type ChangeSubscriber, createChangeFeed } from '@waymark/cache';
import { z } from 'zod';
import type { CatalogLogger } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

const CHANNEL = 'waymark:catalog';

/** The message that a process publishes to all others after a write. */
const changeSchema = z.object({
  /** The names that records have gained or lost; see `nameKey`. */
  names: z.array(z.string()).default([]),
  /** The changed records; `table` says of which type. */
  records: z
    .array(
      z.object({
        table: z.string(),
        workspaceId: z.string(),
        id: z.string(),
        version: z.number(),
        isRemoved: z.boolean().default(false),
      }),
    )
    .default([]),
  /** Public ids of links and customers with new events. */
  counted: z.array(z.object({ workspaceId: z.string(), ids: z.array(z.string()) })).default([]),
  /** All totals may have changed. */
  isRecounted: z.boolean().default(false),
});
/** A change that every process receives. */
export type CatalogChange = z.infer<typeof changeSchema>;
/** Links and customers of a workspace whose totals have changed. */
export type AffectedTotals = CatalogChange['counted'][number];
export type CatalogSubscriber = ChangeSubscriber<CatalogChange>;
export type CatalogFeed = ChangeFeed<Partial<CatalogChange>, CatalogChange>;

/** Creates the change feed of the catalog. */
export function createCatalogFeed(connections: RedisConnections, logger: CatalogLogger): CatalogFeed {
  return createChangeFeed({
    channel: CHANNEL,
    connections,
    parse: (message) => changeSchema.safeParse(message).data,
    logger,
  });
}
