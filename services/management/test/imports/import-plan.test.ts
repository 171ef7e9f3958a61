import { waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { aCaller, startManagement, type TestManagement } from '../test-management.js';
import { importsOf, KEY, startSource } from './test-imports.js';

let management: TestManagement;
beforeAll(async () => {
  management = await startManagement();
  await management.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => management.close());

it('an import that waits for its source goes on with the quotas that the workspace has by then', async () => {
  const acme = await aCaller(management, 'free');
  const { workspaces } = management.catalog;
  await workspaces.update(acme.workspaceId, { quotas: { linksPerMonth: 1 } });
  let isBusy = true;
  let requests = 0;
  let busyMs = 0;
  let waitedMs = 0;
  const source = await startSource(({ url }) => {
    requests++;
    const skip = Number(new URL(url ?? '', 'http://x').searchParams.get('skip'));
    if (skip === 1) {
      waitedMs = performance.now() - busyMs;
      busyMs = performance.now();
      if (isBusy) return [429, { 'retry-after': '1' }, {}];
    }
    const links = ['aaaa', 'bbbb'].map((address) => ({ address, target: `https://${address}.test` }));
    return [200, {}, { data: links.slice(skip, skip + 1) }];
  });
  onTestFinished(source.close);
  const { post, ended } = importsOf(management, acme.token);
  const { body } = await post({ source: 'kutt', address: source.address, credentials: { apiKey: KEY } });
  await waitFor(async () => requests >= 2, { what: 'the request for the second page' });
  await workspaces.update(acme.workspaceId, { quotas: { linksPerMonth: 2 } });
  isBusy = false;
  expect(await ended(body.id)).toMatchObject({ status: 'completed', created: 2, rejected: 0 });
  expect(waitedMs).toBeGreaterThan(950);
});
