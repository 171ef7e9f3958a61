import type { FolderRecord } from '@waymark/catalog';
import type { Link, LinkError, Partner } from '@waymark/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement, withKey } from '../test-management.js';

let management: TestManagement;
let acme: Caller;
let folder: FolderRecord;
let partnerId: string;
let number = 0;

/** Sets the folder of the program, as `waymark workspace update --program-folder` does. */
async function setFolder(caller: Caller, defaultFolderId: string | null): Promise<void> {
  const { id, defaultProgramId } = await management.catalog.workspaces.withProgram(caller.workspaceId);
  await management.catalog.programs.update(id, defaultProgramId ?? '', () => ({ defaultFolderId }));
}

const enrol = (caller: Caller, name: string) =>
  caller.call<Partner>('POST', '/partners', { email: `${name}@example.com`, name, tenantId: name });
const url = () => `https://acme.com/${number++}`;
const folderOfFirst = async ({ id }: Partner) => {
  const [link] = (await acme.get<Link[]>(`/links?partnerId=${id}`)).body;
  return link?.folderId;
};

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
  folder = await management.catalog.folders.create(acme.workspaceId, { name: 'Partners' });
  partnerId = (await enrol(acme, 'before')).body.id;
});
beforeEach(() => setFolder(acme, folder.id));
afterAll(() => management.close());

describe('the folder of the program', () => {
  it('is the folder of new partner links, whichever route creates them', async () => {
    const { body: partner } = await enrol(acme, 'ada');
    expect(await folderOfFirst(partner)).toBe(folder.id);
    for (const [method, path] of [
      ['POST', '/partners/links'],
      ['PUT', '/partners/links/upsert'],
    ] as const) {
      expect((await acme.call<Link>(method, path, { partnerId, url: url() })).body.folderId, path).toBe(folder.id);
    }
    expect((await acme.post({ url: url(), partnerId })).body.folderId).toBe(folder.id);
    expect((await acme.post({ url: url(), tenantId: 'ada' })).body.folderId).toBe(folder.id);
    const { defaultProgramId: programId } = await management.catalog.workspaces.withProgram(acme.workspaceId);
    expect((await acme.post({ url: url(), programId })).body.folderId).toBe(folder.id);
    const bulk = await acme.call<Link[]>('POST', '/links/bulk', [{ url: url(), partnerId }, { url: url() }]);
    expect(bulk.body.map(({ folderId }) => folderId)).toEqual([folder.id, null]);
    const { workspaceId } = acme;
    const applicant = { name: 'Eve', email: 'eve@example.com', status: 'pending' as const };
    const { id } = await management.catalog.partners.create(workspaceId, applicant);
    await acme.call('POST', '/partners/applications/approve', { partnerId: id });
    expect(await folderOfFirst((await acme.get<Partner>(`/partners/${id}`)).body)).toBe(folder.id);
  });

  it('is overridden by a folder, or null, in the body, and does not apply to other links', async () => {
    const other = await management.catalog.folders.create(acme.workspaceId, { name: 'Other' });
    expect((await acme.post({ url: url(), partnerId, folderId: other.id })).body.folderId).toBe(other.id);
    expect((await acme.post({ url: url(), partnerId, folderId: null })).body.folderId).toBeNull();
    expect((await acme.post({ url: url() })).body.folderId).toBeNull();
    expect((await acme.post({ url: url(), tenantId: 'nobody' })).body.folderId).toBeNull();
  });

  it('does not move existing links', async () => {
    await setFolder(acme, null);
    const { body: link } = await acme.call<Link>('POST', '/partners/links', { partnerId, url: url() });
    await setFolder(acme, folder.id);
    const again = { partnerId, url: link.url, comments: 'again' };
    const { body } = await acme.call<Link>('PUT', '/partners/links/upsert', again);
    expect([body.id, body.comments, body.folderId]).toEqual([link.id, 'again', null]);
    await acme.call('PATCH', `/links/${link.id}`, { comments: 'patched' });
    expect((await acme.get(`/links/${link.id}`)).body.folderId).toBeNull();
  });

  it('is ignored once it is deleted', async () => {
    const gone = await management.catalog.folders.create(acme.workspaceId, { name: 'Gone' });
    await setFolder(acme, gone.id);
    await management.catalog.folders.remove(acme.workspaceId, gone.id);
    const { status, body } = await enrol(acme, 'after-removal');
    expect([status, await folderOfFirst(body)]).toEqual([201, null]);
  });

  it.each(['read', null] as const)(
    'with access level %s rejects members, before anything is created',
    async (accessLevel) => {
      const closed = await management.catalog.folders.create(acme.workspaceId, {
        name: `Closed ${accessLevel}`,
        accessLevel,
      });
      await setFolder(acme, closed.id);
      const member = await withKey(management, acme, 'member');
      const applicant = { name: 'Pat', email: `pat-${accessLevel}@example.com`, status: 'pending' as const };
      const { id } = await management.catalog.partners.create(acme.workspaceId, applicant);
      for (const answer of [
        await enrol(member, `new-${accessLevel}`),
        await member.call('POST', '/partners/links', { partnerId, url: url() }),
        await member.call('PUT', '/partners/links/upsert', { partnerId, url: url() }),
        await member.post({ url: url(), partnerId }),
        await member.call('POST', '/partners/applications/approve', { partnerId: id }),
      ]) {
        expect([answer.status, answer.body.error.code]).toEqual([403, 'forbidden']);
        if (accessLevel === null) expect(answer.body.error.message).not.toContain('Closed');
      }
      const bulk = await member.call<LinkError[]>('POST', '/links/bulk', [{ url: url(), partnerId }]);
      expect(bulk.body.map(({ code }) => code)).toEqual(['forbidden']);
      expect((await acme.get<Partner>(`/partners/${id}`)).body.status).toBe('pending');
      expect((await acme.get(`/partners/ext_new-${accessLevel}`)).status).toBe(404);
      expect((await enrol(acme, `new-${accessLevel}`)).status).toBe(201);
    },
  );
});
