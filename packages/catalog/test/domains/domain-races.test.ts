import { startStores, stoppingClient, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/index.js';
import { aWorkspace } from '../test-catalog.js';

let stores: TestStores;
let catalog: Catalog;

beforeAll(async () => {
  stores = await startStores();
  catalog = stores.catalog();
});
afterAll(() => stores.close());

const isSearchForLinks = (text: string) => text.startsWith('SELECT id FROM links ');

/** A process of its own that stops at a statement. */
function aProcess(at: Parameters<typeof stoppingClient>[1]) {
  const process = stoppingClient(stores.database.client, at);
  return { ...process, catalog: stores.catalog({ database: process }) };
}

/** A workspace with a second domain. */
async function withSecondDomain() {
  const { workspace, host } = await aWorkspace(catalog);
  const slug = `second.${host}`;
  const second = await catalog.domains.create(workspace.id, { slug });
  const aLink = (on: string, key: string) =>
    catalog.links.create(workspace.id, { domain: on, key, url: 'https://acme.com' });
  return { workspaceId: workspace.id, host, second, slug, aLink };
}

const primariesOf = async (workspaceId: string) => {
  const request = {
    filters: { isArchivedShown: true, search: undefined },
    sortBy: 'createdAt',
    sortOrder: 'asc',
  } as const;
  const domains = await stores.catalog().domains.list(workspaceId, { ...request, page: 1, pageSize: 100 });
  return domains.filter(({ primary }) => primary).map(({ slug }) => slug);
};

describe('the removal of a domain', () => {
  it('leaves a link that is moved to another domain meanwhile', async () => {
    const { workspaceId, host, second, slug, aLink } = await withSecondDomain();
    const { id } = await aLink(slug, 'kept');
    const mover = aProcess({ statement: (text) => text === 'INSERT INTO links' });
    const moving = mover.catalog.links.update(workspaceId, id, (link) => ({ ...link, domain: host }));
    await mover.stopped;
    const remover = aProcess({ statement: isSearchForLinks, isDone: true });
    const removing = remover.catalog.domains.remove(workspaceId, second.id);
    await remover.stopped;
    remover.go();
    mover.go();
    await Promise.all([moving, removing]);
    const after = stores.catalog();
    expect((await after.links.findByAddress(host, 'kept'))?.id).toBe(id);
    expect(await after.links.findByAddress(slug, '_root')).toBeUndefined();
  });

  it('is completed if it was interrupted after the record of the domain was removed', async () => {
    const { workspaceId, host, second, slug, aLink } = await withSecondDomain();
    await catalog.domains.makePrimary(workspaceId, second.id);
    const late = await aLink(host, 'late');
    const remover = aProcess({ statement: isSearchForLinks, nth: 2 });
    const removing = remover.catalog.domains.remove(workspaceId, second.id);
    await remover.stopped;
    await catalog.links.update(workspaceId, late.id, (link) => ({ ...link, domain: slug }));
    remover.kill();
    await expect(removing).rejects.toThrow();
    expect(await stores.catalog().domains.findBySlug(slug)).toBeUndefined();
    const younger = await aLink(slug, 'younger');

    await catalog.domains.finishRemoval(workspaceId, slug);

    const after = stores.catalog();
    const left = await Promise.all(['_root', 'late', 'younger'].map((key) => after.links.findByAddress(slug, key)));
    // One that was created since may be on a domain that all workspaces share.
    expect(left.map((link) => link?.id)).toEqual([undefined, undefined, younger.id]);
    expect(await primariesOf(workspaceId)).toEqual([host]);
  });

  it('is not completed for a domain that the workspace has never had', async () => {
    const { workspaceId, host, aLink } = await withSecondDomain();
    const { id } = await aLink(`shared.${host}`, 'kept');
    await catalog.domains.finishRemoval(workspaceId, `shared.${host}`);
    expect((await stores.catalog().links.get(workspaceId, id))?.id).toBe(id);
  });
});
