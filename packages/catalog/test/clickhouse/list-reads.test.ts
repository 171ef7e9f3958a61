import type { ClickHouseClient } from '@waymark/clickhouse';
import { createResourceId, parseResourceId } from '@waymark/contract';
import { startStores, type TestStores, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createListReads } from '../../src/clickhouse/list-reads.js';
import type { Catalog } from '../../src/index.js';
import { aWorkspace } from '../test-catalog.js';

/** Lists of a workspace that run at a time, and that may wait. */
const [RUNNING, WAITING] = [4, 100];

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

const search = (reader: Catalog, workspaceId: string, text: string) =>
  reader.links.list(workspaceId, {
    filters: { search: text, showArchived: false, hidesFolders: false },
    ...{ sortBy: 'createdAt', sortOrder: 'desc', limit: 100, offset: 0 },
  });

/** A workspace whose statements of lists take until `go`, in a process of its own, and another workspace with a link. */
async function aBusyWorkspace() {
  const [busy, other] = await Promise.all([aWorkspace(catalog), aWorkspace(catalog)]);
  const link = await catalog.links.create(other.workspace.id, {
    ...{ domain: other.host, key: 'one', url: 'https://acme.com/one' },
  });
  let go = () => {};
  const released = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { client } = stores.database;
  let begun = 0;
  const rows = (async (read: Parameters<typeof client.rows>[0]) => {
    if (read.owner === busy.workspace.id) {
      begun += 1;
      await released;
    }
    return client.rows(read);
  }) as typeof client.rows;
  const reader = stores.catalog({ database: { client: Object.create(client, { rows: { value: rows } }) } });
  let ended = 0;
  const list = async (_none: unknown, index: number) => {
    await search(reader, busy.workspace.id, `nothing ${index}`);
    ended += 1;
  };
  return {
    reader,
    busyId: busy.workspace.id,
    otherId: other.workspace.id,
    link,
    /** Begins lists of the busy workspace. @returns resolves when all have ended; on a busy machine some wait too long, and are refused */
    begin: (count: number) => Promise.allSettled(Array.from({ length: count }, list)),
    /** Statements of lists of the busy workspace that have begun. */
    begun: () => begun,
    /** Lists of the busy workspace that were answered. */
    ended: () => ended,
    go: () => go(),
  };
}

it('many lists of one workspace do not delay a list of another', async () => {
  const { reader, busyId, otherId, link, begin, begun, ended, go } = await aBusyWorkspace();
  const lists = begin(RUNNING + WAITING);
  await expect(search(reader, busyId, 'one too many')).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  const found = await search(reader, otherId, 'one');
  expect(found.map(({ id }) => id)).toEqual([link.id]);
  expect([begun(), ended()]).toEqual([RUNNING, 0]);
  go();
  await lists;
  expect(ended()).toBeGreaterThanOrEqual(RUNNING);
});

it('the checks before a read, an import or an export do not wait for lists of their workspace', async () => {
  const { reader, busyId, begin, ended, go } = await aBusyWorkspace();
  const lists = begin(RUNNING + WAITING);
  await expect(search(reader, busyId, 'one too many')).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  const caller = { hidesFolders: true, hidesPasswords: false };
  await expect(reader.hiddenFolders.anyFor(busyId, caller)).resolves.toBe(false);
  await expect(reader.importJobs.checkRoom(busyId)).resolves.toBeUndefined();
  expect(ended()).toBe(0);
  go();
  await lists;
});

it('a count of all links of a workspace waits for its lists, as a count with a filter does', async () => {
  const { reader, busyId, otherId, begin, begun, go } = await aBusyWorkspace();
  const lists = begin(RUNNING);
  await waitFor(() => begun() === RUNNING, { what: 'the statements of all lists that may run at a time' });
  const filters = [
    { showArchived: true, hidesFolders: false },
    { showArchived: false, hidesFolders: false },
  ];
  let counted = 0;
  const counts = filters.map(async (filter) => {
    const count = await reader.links.count(busyId, filter);
    counted += 1;
    return count;
  });
  // Counts that do not wait take as long.
  for (const filter of filters) expect(await reader.links.count(otherId, filter)).toBeGreaterThan(0);
  expect([begun(), counted]).toEqual([RUNNING, 0]);
  go();
  await lists;
  expect(await Promise.all(counts)).toEqual(
    await Promise.all(filters.map((filter) => catalog.links.count(busyId, filter))),
  );
});

it('the statement of a list has the public id of its workspace as its owner, as one of events has', async () => {
  const id = createResourceId('workspace', 1_700_000_000_000);
  const owners: unknown[] = [];
  const rows = async ({ owner }: { readonly owner?: string }) => {
    owners.push(owner);
    return [];
  };
  const readList = createListReads({ rows } as unknown as ClickHouseClient);
  await readList({ query: 'SELECT 1', parameters: { workspace: parseResourceId('workspace', id) ?? '' } });
  expect(owners).toEqual([id]);
});
