import type { ExportJob, ImportJob, Role } from '@waymark/contract';
import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWholeApi, type WholeApi } from '../contract/whole-api.js';

// Files of jobs are made once and kept for days. docs/reference/access.md has the rule for folders that are hidden later.

const SECRET = 'topsecret';

let api: WholeApi;
let workspaceId: string;
type Call = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ readonly status: number; readonly text: string }>;
let owner: Call;
let maker: Call;
let other: Call;

function calling(token: string): Call {
  return async (method, path, body) => {
    const isForm = body instanceof FormData;
    const response = await fetch(`${api.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && !isForm && { 'content-type': 'application/json' }) },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
}

async function aKey(role: Role): Promise<Call> {
  return calling((await api.catalog.keys.create({ workspaceId, name: role, kind: 'secret', role, scopes: [] })).token);
}

/** Makes a job. @returns the path of its file when it has ended */
async function fileOf(by: Call, path: '/exports' | '/imports', body: object): Promise<string> {
  const created = await by('POST', path, body);
  expect([created.status, created.text]).toEqual([202, expect.any(String)]);
  const { id } = JSON.parse(created.text) as { id: string };
  const job = await waitFor(
    async () => {
      const found = JSON.parse((await by('GET', `${path}/${id}`)).text) as ExportJob | ImportJob;
      return ['queued', 'processing'].includes(found.status) ? undefined : found;
    },
    { what: 'the end of the job' },
  );
  expect(job.status).toBe('completed');
  const [file] = job.files;
  return path === '/exports' ? `/exports/${id}/files/${file?.name}` : `/imports/${id}/${file?.name}`;
}

const statusesOf = async (paths: readonly string[]) =>
  Promise.all(
    [maker, other, owner].map(async (by) => Promise.all(paths.map(async (path) => (await by('GET', path)).status))),
  );

beforeAll(async () => {
  api = await startWholeApi();
  const { workspace, apiKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: 'go.acme.example' },
  });
  workspaceId = workspace.id;
  await api.catalog.workspaces.update(workspaceId, { analyticsPerSecond: 10_000, requestsPerMinute: 100_000 });
  owner = calling(apiKey.token);
  maker = await aKey('member');
  other = await aKey('member');
});
afterAll(() => api.close());

it('a file that was begun before a folder was hidden can be read only by keys that may read the folder', async () => {
  const folder = await api.catalog.folders.create(workspaceId, { name: 'Plans', accessLevel: 'write' });
  const link = { url: `https://${SECRET}.example/`, folderId: folder.id };
  expect((await owner('POST', '/links', link)).status).toBe(200);
  const form = new FormData();
  form.append('source', 'csv');
  form.append('file', new Blob([`url,folder,unknown\nhttps://${SECRET}.example/2,Plans,x\n`]), 'links.csv');
  const files = [
    await fileOf(maker, '/exports', { resource: 'links' }),
    await fileOf(maker, '/exports', { resource: 'events' }),
    await fileOf(maker, '/imports', form),
  ];
  expect(await statusesOf(files)).toEqual([
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
  ]);

  const setLevel = async (accessLevel: string | null) =>
    expect((await owner('PATCH', `/folders/${folder.id}`, { accessLevel })).status).toBe(200);
  await setLevel(null);
  expect(await statusesOf(files)).toEqual([
    [403, 403, 403],
    [403, 403, 403],
    [200, 200, 200],
  ]);
  // The records of the jobs contain nothing about links.
  const jobs = (await other('GET', '/exports')).text;
  expect([JSON.parse(jobs).length, jobs.includes(SECRET)]).toEqual([2, false]);

  const later = await fileOf(maker, '/exports', { resource: 'links' });
  expect(await statusesOf([later])).toEqual([[403], [403], [200]]);
  // As if it had begun a minute after the change, which is more than the clocks of two processes may be apart.
  const startedAt = new Date(Date.now() + 60_000).toISOString();
  await api.catalog.exportJobs.update(workspaceId, later.split('/')[2] ?? '', () => ({ startedAt }));
  expect(await statusesOf([later])).toEqual([[200], [200], [200]]);
  expect((await other('GET', later)).text).not.toContain(SECRET);

  await setLevel('read');
  expect(await statusesOf(files)).toEqual([
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
  ]);
  await setLevel(null);
  expect((await other('GET', files[0] ?? '')).status).toBe(403);
  // Its links are in no folder then, so all keys may read them.
  expect((await owner('DELETE', `/folders/${folder.id}`)).status).toBe(200);
  expect((await other('GET', files[0] ?? '')).status).toBe(200);
});

it('so can a file that was begun before a hidden folder was created, because links may have been moved into it', async () => {
  const file = await fileOf(maker, '/exports', { resource: 'links' });
  const { id } = await api.catalog.folders.create(workspaceId, { name: 'Later', accessLevel: null });
  expect(await statusesOf([file])).toEqual([[403], [403], [200]]);
  expect((await owner('DELETE', `/folders/${id}`)).status).toBe(200);
  expect(await statusesOf([file])).toEqual([[200], [200], [200]]);
});
