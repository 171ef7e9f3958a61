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

it('prints the tag of a link domain, which stays right after an upgrade', async () => {
  const { code, text } = await script('--host', 'go.acme.com');
  expect([code, text]).toEqual([0, '<script defer src="https://go.acme.com/analytics/script.js"></script>']);
});

it('a publishable key chooses the variant that reports conversions', async () => {
  const key = 'dub_pk_0123456789abcdef';
  const features = 'outbound-domains,site-visit';
  const args = ['--host', 'http://localhost:3001', '--variant', features, '--publishable-key', key];
  const { text } = await script(...args, '--json');
  const src = 'http://localhost:3001/analytics/script.site-visit.outbound-domains.conversion-tracking.js';
  const tag = `<script defer src="${src}" data-publishable-key="${key}"></script>`;
  expect(JSON.parse(text)).toEqual({ src, tag });
});

it('with --integrity, prints the address and the hash of what the domain serves', async () => {
  const { text } = await script('--host', 'go.acme.com', '--integrity', '--json');
  const { src, integrity, tag } = JSON.parse(text);
  const { pathname, search, origin } = new URL(src);
  const { headers, body } = scriptResponse(pathname, {}, search.slice(1));
  expect([origin, headers['cache-control']]).toEqual(['https://go.acme.com', expect.stringContaining('immutable')]);
  expect(integrity).toBe(`sha384-${createHash('sha384').update(body).digest('base64')}`);
  expect(tag).toBe(`<script defer src="${src}" integrity="${integrity}" crossorigin="anonymous"></script>`);
});

it.each([
  [[], '--host is required'],
  [['--host', 'go.acme.com/path'], '--host must be a host such as'],
  [['--host', 'javascript:alert(1)'], '--host must be a host such as'],
  [['--host', 'go.acme.com"><script>'], '--host must be a host such as'],
  [['--host', 'go.acme.com', '--variant', ''], '--variant needs a value'],
  [['--host', 'go.acme.com', '--variant', 'everything'], '--variant must be a list of site-visit, outbound-domains'],
  [['--host', 'go.acme.com', '--publishable-key', 'dub_secret'], '--publishable-key must be a publishable key'],
])('%j fails: %s', async (args, message) => {
  const { code, text } = await script(...args);
  expect([code, text]).toEqual([1, expect.stringContaining(message)]);
});
