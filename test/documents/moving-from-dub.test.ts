import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Dub } from 'dub';
import { afterEach, beforeEach, expect, test } from 'vitest';

const PAGE = readFileSync(new URL('../../docs/runbooks/moving-from-dub.md', import.meta.url), 'utf8');
const LEAD = { clickId: 'a', eventName: 'Sign up', customerExternalId: 'c' };

let server: ReturnType<typeof createServer>;
let requests: number;
beforeEach(async () => {
  requests = 0;
  server = createServer((_request, response) => {
    requests += 1;
    response.setHeader('Content-Type', 'application/json');
    if (requests > 1) return response.end(JSON.stringify({ click: { id: 'a' }, link: null, customer: null }));
    const error = { code: 'internal_server_error', message: 'Redis does not answer.', doc_url: '' };
    return response.writeHead(500, { 'Retry-After': '1' }).end(JSON.stringify({ error }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => void server.close());

/** The SDK as the page makes it, at the server of the test. */
function dubOfPage(): Dub {
  const [, code = ''] = /```js\n([\s\S]+?)```/.exec(PAGE) ?? [];
  const { port } = server.address() as AddressInfo;
  const local = code.replace('https://api.acme.com', `http://127.0.0.1:${port}`);
  expect(local).not.toBe(code);
  return new Function('Dub', 'process', `${local}; return dub;`)(Dub, { env: { WAYMARK_KEY: 'key' } }) as Dub;
}

test('the SDK repeats a lead that was answered with 500, as the page sets it up, and not without', async () => {
  await dubOfPage()
    .track.lead(LEAD)
    .catch(() => undefined);
  expect(requests).toBe(2);

  requests = 0;
  const { port } = server.address() as AddressInfo;
  const plain = new Dub({ token: 'key', serverURL: `http://127.0.0.1:${port}` });
  await expect(plain.track.lead(LEAD)).rejects.toThrow('Redis does not answer.');
  expect(requests).toBe(1);
});
