import type { ClickHouseClient } from '@waymark/clickhouse';
import { createResourceId, parseResourceId } from '@waymark/contract';
import { startStores, type TestStores, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createListReads } from '../../src/clickhouse/list-reads.js';
import type { Catalog } from '../../src/index.js';
import { aWorkspace } from '../test-catalog.js';

const LINKS = 200_000;
const LISTS = 90;
/** More than may wait. */
const LISTS_TOO_MANY = 110;

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

const search = (workspaceId: string, text: string) =>
  catalog.links.list(workspaceId, {
    filters: { search: text, showArchived: false, hidesFolders: false },
    ...{ sortBy: 'createdAt', sortOrder: 'desc', limit: 100, offset: 0 },
  });

/** A workspace with so many links that a search takes a while. */
async function aBusyWorkspace() {
  const busy = await aWorkspace(catalog);
  await stores.database.client.command({
    query: `INSERT INTO links (workspace_id, id, version, deleted, domain, key, url, created_at, data)
SELECT ${parseResourceId('workspace', busy.workspace.id)}, ${parseResourceId('link', createResourceId('link', 1_700_000_000_000))} + number,
  1, 0, '${busy.host}', 'k' || toString(number), 'https://acme.com/' || toString(number), now64(3), '{}' FROM numbers(${LINKS})`,
  });
  return busy;
}

it('many lists of one workspace do not delay a list of another', async () => {
  const [busy, other] = await Promise.all([aBusyWorkspace(), aWorkspace(catalog)]);
  const link = await catalog.links.create(other.workspace.id, {
    ...{ domain: other.host, key: 'one', url: 'https://acme.com/one' },
  });
  let ended = 0;
  // On a busy machine some wait too long, and are refused.
  const lists = Promise.allSettled(
    Array.from({ length: LISTS }, (_, index) =>
      search(busy.workspace.id, `nothing ${index}`).finally(() => {
        ended += 1;
      }),
    ),
  );
  const found = await search(other.workspace.id, 'one');
  const endedBefore = ended;
  expect(found.map(({ id }) => id)).toEqual([link.id]);
  await lists;
  expect(endedBefore).toBeLessThan(LISTS / 2);
});

it('the checks before a read, an import or an export do not wait for lists of their workspace', async () => {
  const { workspace } = await aBusyWorkspace();
  const refused: unknown[] = [];
  const lists = Array.from({ length: LISTS_TOO_MANY }, (_, index) =>
    search(workspace.id, `nothing ${index}`).catch((err: unknown) => void refused.push(err)),
  );
  await waitFor(() => refused.length > 0, { what: 'a list that is refused because too many wait' });
  const reader = { hidesFolders: true, hidesPasswords: false };
  await expect(catalog.hiddenFolders.anyFor(workspace.id, reader)).resolves.toBe(false);
  await expect(catalog.importJobs.checkRoom(workspace.id)).resolves.toBeUndefined();
  await Promise.all(lists);
});

it('a count of all links of a workspace waits for its lists, as a count with a filter does', async () => {
  const { workspace } = await aBusyWorkspace();
  let ended = 0;
  const lists = Promise.allSettled(
    Array.from({ length: LISTS }, (_, index) =>
      search(workspace.id, `nothing ${index}`).finally(() => {
        ended += 1;
      }),
    ),
  );
  await waitFor(() => ended > 0, { what: 'the first list, when all others have a place in the queue' });
  await catalog.links.count(workspace.id, { showArchived: true, hidesFolders: false }).catch(() => undefined);
  expect(ended).toBeGreaterThan(LISTS / 2);
  await lists;
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
