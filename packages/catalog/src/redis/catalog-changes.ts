import { type ChangeFeed, type ChangeSubscriber, createChangeFeed } from '@waymark/cache';
import { z } from 'zod';
import type { CatalogLogger } from '../model/errors.js';
import type { RedisConnections } from './connections.js';

const CHANNEL = 'waymark:catalog';

/** The message that a writing process publishes to all others. `table` stands for the type of a record. */
const changeSchema = z.object({
  names: z.array(z.string()).default([]),
  records: z
    .array(
      z.object({
        ...{ table: z.string(), workspaceId: z.string(), id: z.string(), version: z.number() },
        isRemoved: z.boolean().default(false),
      }),
    )
    .default([]),
  /** Links and customers with new events. */
  counted: z.array(z.object({ workspaceId: z.string(), ids: z.array(z.string()) })).default([]),
  /** All totals may have changed. */
  isRecounted: z.boolean().default(false),
});
export type CatalogChange = z.infer<typeof changeSchema>;
/** Links and customers of a workspace whose totals have changed. */
export type AffectedTotals = CatalogChange['counted'][number];
export type CatalogSubscriber = ChangeSubscriber<CatalogChange>;
export type CatalogFeed = ChangeFeed<Partial<CatalogChange>, CatalogChange>;

/** The feed by which all processes publish and receive the changes of the catalog. */
export function createCatalogFeed(connections: RedisConnections, logger: CatalogLogger): CatalogFeed {
  return createChangeFeed({
    channel: CHANNEL,
    connections,
    parse: (message) => changeSchema.safeParse(message).data,
    logger,
  });
}
