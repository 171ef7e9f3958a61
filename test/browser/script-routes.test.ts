import type { AddressInfo } from 'node:net';
import { scriptVersion } from '@waymark/browser-script';
import { SCRIPT_PATHS } from '@waymark/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BROWSER, DOMAIN, startIngest, type TestIngest } from '../../services/ingest/test/test-ingest.js';

let ingest: TestIngest;
let origins: string[];
beforeAll(async () => {
  ingest = await startIngest();
  const apps = [ingest.trackApp, ingest.linkApp];
  await Promise.all(apps.map((app) => app.listen({ host: '127.0.0.1', port: 0 })));
  origins = apps.map(({ server }) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(() => ingest.stop());

it('every variant is served on the API and on every host of the link port, to pages of all sites', async () => {
  for (const origin of origins) {
    for (const path of SCRIPT_PATHS) {
      const answer = await fetch(`${origin}${path}?v=1`);
      expect([origin, path, answer.status]).toEqual([origin, path, 200]);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': expect.stringMatching(/^public, max-age=3600/),
        'cross-origin-resource-policy': 'cross-origin',
        'access-control-allow-origin': '*',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
      });
      expect(await answer.text()).toContain('dubAnalytics');
    }
  }
});

it('the address of a version may be kept for good, on both ports', async () => {
  for (const origin of origins) {
    const { address } = scriptVersion('/analytics/script.js');
    const answer = await fetch(`${origin}${address}`);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    expect(await answer.text()).toContain('dubAnalytics');
  }
});

it('a client that has the script gets 304 without a body, and HEAD the same headers as GET', async () => {
  for (const origin of origins) {
    const url = `${origin}/analytics/script.site-visit.js`;
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, Number(head.headers.get('content-length')) > 0, await head.text()]).toEqual([200, true, '']);
    const again = await fetch(url, { headers: { 'if-none-match': head.headers.get('etag') ?? '' } });
    expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, head.headers.get('etag'), '']);
  }
});

it('other paths beside it are links', async () => {
  const [, links] = origins;
  await ingest.link({ key: 'analytics/scripts', url: 'https://acme.com/scripts' });
  const headers = { host: DOMAIN, 'user-agent': BROWSER };
  const visit = await ingest.linkApp.inject({ method: 'GET', url: '/analytics/scripts', headers });
  expect([visit.statusCode, visit.headers.location]).toEqual([302, 'https://acme.com/scripts']);
  expect((await fetch(`${links}/analytics/script.other.js`)).status).toBe(404);
  expect((await fetch(`${links}/analytics/%73cript.js`)).status).toBe(404);
});
