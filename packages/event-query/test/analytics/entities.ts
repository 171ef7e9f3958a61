import type { TestDatabase } from '@waymark/test-kit';
import type { World } from '../world.js';

/** Numbers of the tags, folders, groups and partner tags that exist; links and partners may refer to others. */
export const EXISTING = { tags: [1, 2], folders: [1], groups: [2], partnerTags: [1, 3] } as const;
const REMOVED = { tags: [3], folders: [2], groups: [1], partnerTags: [] } as const;

const TABLES = { tags: 'tags', folders: 'folders', groups: 'groups', partnerTags: 'partner_tags' } as const;

/** Inserts the entities that links and partners refer to, some of them removed. */
export async function storeEntities({ client }: TestDatabase, { workspace }: World): Promise<void> {
  for (const [kind, table] of Object.entries(TABLES)) {
    const existing: readonly number[] = EXISTING[kind as keyof typeof TABLES];
    const removed: readonly number[] = REMOVED[kind as keyof typeof TABLES];
    const row = (id: number) => ({ workspace_id: workspace, id, version: 1, deleted: 0, name: `${kind} ${id}` });
    const values = [...existing, ...removed].map(row);
    const tombstones = removed.map((id) => ({ ...row(id), version: 2, deleted: 1 }));
    await client.insert({ table, values: [...values, ...tombstones], format: 'JSONEachRow' });
  }
}
