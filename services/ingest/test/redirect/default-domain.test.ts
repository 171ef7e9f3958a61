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
