import { afterAll, beforeAll, expect, it } from 'vitest';
import { DOMAIN, startIngest, type TestIngest } from '../test-ingest.js';

/** The domain that all workspaces share, with a port, as on a developer's machine. */
const SHARED = 'short.test:3001';

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startIngest({}, { defaultDomain: SHARED });
});
afterAll(() => ingest.stop());

it.each([
  ['without a port', 'short.test', 'short.test:8080'],
  ['with a port', SHARED, SHARED],
])('search engines may index links of the default domain %s, and of no other', async (_what, defaultDomain, host) => {
  const own = defaultDomain === SHARED ? ingest : await startIngest({}, { defaultDomain });
  try {
    const shared = await own.link({ domain: defaultDomain });
    const { key } = await own.link();
    const robotsOf = async (at: string, path: string) => {
      const answer = await own.visit(`/${path}`, { host: at });
      return [answer.statusCode, answer.headers['x-robots-tag']];
    };
    expect(await robotsOf(host, shared.key)).toEqual([302, undefined]);
    expect(await robotsOf(DOMAIN, key)).toEqual([302, 'googlebot: noindex']);
  } finally {
    if (own !== ingest) await own.stop();
  }
});

it('the workspace that has registered the default domain sets the URL for its own expired links only, but for all missing ones', async () => {
  const { catalog, workspaceId } = ingest;
  const [expiredUrl, notFoundUrl] = ['https://owner.example/expired', 'https://owner.example/404'];
  await catalog.domains.create(workspaceId, { slug: SHARED, expiredUrl, notFoundUrl });
  const { workspace } = await catalog.workspaces.create({ name: 'Guest', slug: 'guest', plan: 'enterprise' });
  const [past, url] = [new Date(Date.now() - 1000).toISOString(), 'https://acme.com/'];
  const states = {
    expired: { expiresAt: past },
    'expired-elsewhere': { expiresAt: past, expiredUrl: 'https://acme.com/over' },
    disabled: { disabledAt: past },
  };
  for (const [owner, id] of Object.entries({ owner: workspaceId, guest: workspace.id })) {
    for (const [state, fields] of Object.entries(states)) {
      await catalog.links.create(id, { domain: SHARED, key: `${owner}-${state}`, url, ...fields });
    }
  }
  const at = async (path: string) => {
    const { statusCode, headers } = await ingest.visit(path, { host: SHARED });
    return [statusCode, headers.location];
  };
  expect(await at('/owner-expired')).toEqual([302, expiredUrl]);
  expect(await at('/guest-expired')).toEqual([410, undefined]);
  for (const owner of ['owner', 'guest']) {
    expect(await at(`/${owner}-expired-elsewhere`)).toEqual([302, 'https://acme.com/over']);
    expect(await at(`/${owner}-disabled`)).toEqual([302, notFoundUrl]);
  }
  expect(await at('/nothing')).toEqual([302, notFoundUrl]);
});
