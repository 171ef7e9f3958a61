import { request } from 'node:http';
import { createTestDatabase, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authorizationOf, fetchWithPassword, withoutPassword } from './fetch-with-password.js';

/** Requests without the password, and requests from browsers, are refused. */

let db: TestDatabase;
let address: string;
let password: string;
beforeAll(async () => {
  db = await createTestDatabase({ migrated: false });
  address = withoutPassword(db.url);
  ({ password } = new URL(db.url));
});
afterAll(() => db.drop());

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** A request by `node:http`, because `fetch` does not allow setting `Host` and the headers of browsers. */
function send(path: string, method: string, headers: Record<string, string>, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, address), { method, headers }, async (response) => {
      let text = JSON.stringify(response.headers);
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, text });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

const REQUESTS = [
  ['/', 'GET', ''],
  ['/ping', 'GET', ''],
  ['/?query=SELECT%20version()', 'GET', ''],
  ['/', 'POST', 'SELECT version()'],
  ['/?query=INSERT%20INTO%20t%20FORMAT%20TSV', 'POST', '1'],
  ['/play', 'GET', ''],
  ['/dashboard', 'GET', ''],
  ['/replicas_status', 'GET', ''],
  ['/', 'OPTIONS', ''],
  ['/', 'HEAD', ''],
] as const;

const basic = (user: string, secret: string) => `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;

describe.each(REQUESTS)('%s by %s', (path, method, body) => {
  test.each([
    ['no password', () => ({})],
    ['an empty password', () => ({ authorization: basic('default', '') })],
    ['a wrong password', () => ({ authorization: basic('default', 'x'.repeat(43)) })],
    ['another user', () => ({ authorization: basic('admin', password) })],
    ['half of the password', () => ({ authorization: basic('default', password.slice(0, 20)) })],
    ['another scheme', () => ({ authorization: `Bearer ${password}` })],
  ])('answers 401, and reveals nothing about the server, to a request with %s', async (_, headers) => {
    const given: Record<string, string> = headers();
    const { status, text } = await send(path, method, given, body);
    expect(status).toBe(401);
    expect(text).not.toMatch(/clickhouse|waymark|chdb|26\.\d|exception/i);
  });

  test.each([
    ['by its Origin', { origin: 'https://evil.example' }],
    ['by the Origin of this machine', { origin: 'http://localhost:3000' }],
    ['by Sec-Fetch-Site', { 'sec-fetch-site': 'same-origin' }],
    ['by a form', { origin: 'null', 'content-type': 'text/plain' }],
    ['by a host name, which may resolve to this machine,', { host: 'rebound.evil.example' }],
    ['by a host name with the port', { host: 'rebound.evil.example:8123' }],
  ])('answers 403 to a page in a browser, which it recognizes %s, with the password or without', async (_, headers) => {
    const given: Record<string, string> = headers;
    for (const asked of [given, { ...given, authorization: authorizationOf(db.url) }]) {
      const { status, text } = await send(path, method, asked, body);
      expect(status).toBe(403);
      expect(text).not.toMatch(/access-control|clickhouse|waymark|chdb|26\.\d/i);
    }
  });
});

test('a password in the URL is ignored, because URLs are logged', async () => {
  const inAddress = `/?${new URLSearchParams({ user: 'default', password, query: 'SELECT 1' })}`;
  expect((await send(inAddress, 'GET', {})).status).toBe(401);
});

test.each([
  'settings',
  'server_settings',
  'merge_tree_settings',
  'processes',
  'errors',
  'warnings',
  'disks',
  'macros',
  'clusters',
  'metrics',
  'user_directories',
  'build_options',
])('system.%s does not contain the password', async (table) => {
  const answer = await fetchWithPassword(db.url, { method: 'POST', body: `SELECT * FROM system.${table} LIMIT 5000` });
  expect(await answer.text()).not.toContain(password);
  expect(answer.status).toBe(200);
});

test.each(['grants', 'users'])('system.%s cannot be read', async (table) => {
  const answer = await fetchWithPassword(db.url, { method: 'POST', body: `SELECT * FROM system.${table}` });
  expect(await answer.text()).toContain('ACCESS_DENIED');
});
