import type { CatalogRecord } from '../model/entity-type.js';
import { createCacheWrites } from './cache-writes.js';
import { createNameOwners } from './name-owners.js';
import { createCreator } from './record-creation.js';
import { createChanger } from './record-updates.js';
import type { RecordDeps, WriteDeps } from './write-context.js';

/** Creates, updates and removes records of one type, singly or many of one workspace in one insert. Updates lock the id. */
export function createRecordWriter<R extends CatalogRecord>(parts: WriteDeps, own: RecordDeps<R>) {
  const checkOwners = createNameOwners(own);
  const memory = createCacheWrites(parts, own);
  return { ...createCreator(parts, own, checkOwners, memory), ...createChanger(parts, own, checkOwners, memory) };
}
export type RecordWriter<R extends CatalogRecord> = ReturnType<typeof createRecordWriter<R>>;
