import type { CatalogRecord } from '../model/entity-type.js';
import { createCacheWrites } from './cache-writes.js';
import { createNameOwners } from './name-owners.js';
import { createCreator } from './record-creation.js';
import { createChanger } from './record-updates.js';
import type { RecordDeps, WriteDeps } from './write-context.js';

/** The operations that create, change and remove records of one type. */
export function createRecordWriter<R extends CatalogRecord>(deps: WriteDeps, own: RecordDeps<R>) {
  const checkOwners = createNameOwners(own);
  const cacheWrites = createCacheWrites(deps, own);
  return {
    ...createCreator(deps, own, checkOwners, cacheWrites),
    ...createChanger(deps, own, checkOwners, cacheWrites),
  };
}
export type RecordWriter<R extends CatalogRecord> = ReturnType<typeof createRecordWriter<R>>;
