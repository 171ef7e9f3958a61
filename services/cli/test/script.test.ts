import { createHash } from 'node:crypto';
import { scriptResponse } from '@waymark/browser-script';
import { afterEach, expect, it, vi } from 'vitest';
import { runCommandLine } from '../src/command-line.js';

afterEach(() => void vi.restoreAllMocks());

/** Runs `waymark script` in this process: it needs no store. */
async function script(...args: string[]) {
  const out = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const err = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const code = await runCommandLine(['node', 'waymark', 'script', ...args]);
  const text = [...out.mock.calls, ...err.mock.calls].flat().join('\n');
  vi.restoreAllMocks();
  return { code, text };
}

const sha384 = (path: string) => createHash('sha384').update(scriptResponse(path, {}).body).digest('base64');

it('prints the tag of a link domain with the hash of what that domain serves', async () => {
  const { code, text } = await script('--host', 'go.acme.com');
  const integrity = `sha384-${sha384('/analytics/script.js')}`;
  expect([code, text]).toEqual([
    0,
    `<script defer src="https://go.acme.com/analytics/script.js" integrity="${integrity}" crossorigin="anonymous"></script>`,
  ]);
});

it('a publishable key chooses the variant that reports conversions', async () => {
  const key = 'dub_pk_0123456789abcdef';
  const args = [
    '--host',
    'http://localhost:3001',
    '--variant',
    'outbound-domains,site-visit',
    '--publishable-key',
    key,
  ];
  const { text } = await script(...args, '--json');
  const path = '/analytics/script.site-visit.outbound-domains.conversion-tracking.js';
  const { src, integrity, tag } = JSON.parse(text);
  expect([src, integrity]).toEqual([`http://localhost:3001${path}`, `sha384-${sha384(path)}`]);
  expect(tag).toContain(`data-publishable-key="${key}"`);
});

it.each([
  [[], '--host is required'],
  [['--host', 'go.acme.com/path'], '--host must be a host such as'],
  [['--host', 'javascript:alert(1)'], '--host must be a host such as'],
  [['--host', 'go.acme.com"><script>'], '--host must be a host such as'],
  [['--host', 'go.acme.com', '--variant', 'everything'], '--variant must be a list of site-visit, outbound-domains'],
  [['--host', 'go.acme.com', '--publishable-key', 'dub_secret'], '--publishable-key must be a publishable key'],
])('%j fails: %s', async (args, message) => {
  const { code, text } = await script(...args);
  expect([code, text]).toEqual([1, expect.stringContaining(message)]);
});
