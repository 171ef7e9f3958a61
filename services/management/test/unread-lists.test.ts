import { EventEmitter } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { aCaller, type Caller, startManagement, type TestManagement } from './test-management.js';

/** As long as the files of a domain may be. */
const FILE = JSON.stringify('x'.repeat(200_000));

let management: TestManagement;
beforeAll(async () => {
  management = await startManagement();
});
afterAll(() => management.close());

async function aCallerWithLargeDomains(): Promise<Caller> {
  const caller = await aCaller(management);
  for (const slug of ['one', 'two', 'three']) {
    const files = { assetLinks: FILE, appleAppSiteAssociation: FILE };
    await management.catalog.domains.create(caller.workspaceId, { slug: `${slug}.${caller.host}`, ...files });
  }
  return caller;
}

it('a long list is refused while its workspace has left answers of 75 MB unread, and short ones are not', async () => {
  const [heavy, light] = [await aCallerWithLargeDomains(), await aCallerWithLargeDomains()];
  const raw = new EventEmitter();
  const slow = { raw, request: { raw: { socket: new EventEmitter() } } } as never;
  management.app.unsentAnswers.reserve(heavy.workspaceId, slow, 75_000_000);
  const status = async (caller: Caller, path: string) => (await caller.get(path)).status;
  expect([await status(heavy, '/domains'), await status(light, '/domains')]).toEqual([429, 200]);
  expect([await status(heavy, '/domains?pageSize=2'), await status(heavy, '/links')]).toEqual([200, 200]);
  raw.emit('close');
  expect(await status(heavy, '/domains')).toBe(200);
});
