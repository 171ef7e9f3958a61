import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { RunState } from '@waymark/config';
import { waitFor } from '@waymark/test-kit';
import { Dub } from 'dub';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  removeUp,
  runUp,
  temporaryDataDir,
  UP_MS_MAX,
  type Up,
} from '../../services/standalone/test/process/run-up.js';
import { visit } from './lib/visit.js';

const BROWSER =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1';
const LISTED_WITHIN_MS = 2000;

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function shell(line: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-c', line])).stdout;
}

/** Normalises commands: replaces addresses and API keys, which differ between installations. */
function withoutPlace(command: string): string {
  return command
    .trim()
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):\d+/g, 'http://$1')
    .replaceAll(/'?[^'\s]*\/run\/click-id'?/g, 'click-id')
    .replaceAll(/Bearer [^"]+/g, 'Bearer');
}

/** Retries on `Retry-After`: on a busy machine a lead may arrive before its click is stored. */
function withRetries<T>(call: () => Promise<T>) {
  return waitFor(call, { what: 'the lead to be accepted' });
}

describe('the first five minutes', { timeout: 120_000 }, () => {
  let up: Up;
  let state: RunState;
  let printed: string[];

  beforeAll(async () => {
    up = runUp(temporaryDataDir());
    state = await up.ready();
    await waitFor(() => up.output().includes('Ctrl-C'), { what: 'the last line' });
    printed = up
      .output()
      .split('\n')
      .filter((line) => /^ {2}(curl|<script) /.test(line));
  }, UP_MS_MAX);
  afterAll(async () => {
    await up.stop();
    await removeUp(up);
  });

  it('show the same lines in the README as in the terminal', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const documented = readme.split('\n').filter((line) => /^ {3}(curl|<script) /.test(line));
    expect(documented.map(withoutPlace)).toEqual(printed.map(withoutPlace));
  });

  it('start at a URL that leads a browser to the documentation and the operations page', async () => {
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const page = await fetch(state.api, { headers: browser });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const paths = new Set([...(await page.text()).matchAll(/href="([^"]+)"/g)].map(([, path]) => path));
    expect([...paths].sort()).toEqual(['docs', 'docs/reference', 'openapi.json', 'ops', 'readyz']);
    for (const path of paths) {
      const { status } = await fetch(`${state.api}/${path}`, { headers: browser });
      expect([path, status]).toEqual([path, path === 'ops' ? 401 : 200]);
    }
    expect(await (await fetch(state.api)).json()).toEqual({
      name: 'Waymark',
      documentation: `${state.api}/docs`,
      openapi: `${state.api}/openapi.json`,
    });
    // On the link port the same path is the root link of the domain; an unknown host has none.
    expect((await fetch(state.links, { headers: browser })).status).toBe(404);
  });

  it.skipIf(!hasCurl())('work line by line as printed', async () => {
    const [create, follow, lead, sale, clicks, leads, sales, count, tag] = printed as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    expect(JSON.parse(await shell(create))).toMatchObject({ key: 'try', shortLink: 'https://localhost/try' });
    const clickId = (await shell(follow)).trim();
    expect(clickId).toMatch(/^[0-9A-Za-z]{16}$/);
    const reported = await withRetries(async () => {
      const answer = JSON.parse(await shell(lead)) as { readonly error?: unknown };
      return answer.error === undefined ? answer : undefined;
    });
    expect(reported).toMatchObject({
      click: { id: clickId },
      customer: { externalId: 'customer-1' },
    });
    expect(JSON.parse(await shell(sale))).toMatchObject({
      sale: { amount: 4900, currency: 'usd', invoiceId: 'invoice-1' },
    });
    for (const list of [clicks, leads, sales]) {
      await waitFor(
        async () => {
          const events = JSON.parse(await shell(list)) as { click: { id: string } }[];
          return events.some((event) => event.click.id === clickId);
        },
        { what: `the event in ${list}`, timeoutMs: LISTED_WITHIN_MS },
      );
    }
    expect(JSON.parse(await shell(count))).toMatchObject([
      { key: 'try', clicks: 1, leads: 1, sales: 1, saleAmount: 4900 },
    ]);
    const script = await fetch(/src="([^"]+)"/.exec(tag)?.[1] ?? '');
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  });

  it('work with the dub SDK, with nothing set but its serverURL', async () => {
    const token = up.firstKey();
    const dub = new Dub({ token, serverURL: state.api });

    const link = await dub.links.create({ url: 'https://example.com/sdk', trackConversion: true });
    const { status, clickId } = await visit(`${state.links}/${link.key}`, {
      host: link.domain,
      'user-agent': BROWSER,
      'x-forwarded-for': '203.0.113.7',
      'x-vercel-ip-country': 'JP',
    });
    expect(status).toBe(302);

    const report = { clickId, eventName: 'Sign up', customerExternalId: 'sdk-1', customerEmail: 'ada@example.com' };
    const lead = await withRetries(() => dub.track.lead({ ...report, metadata: { plan: 'pro' } }));
    expect(lead).toMatchObject({ click: { id: clickId }, link: { id: link.id }, customer: { externalId: 'sdk-1' } });
    const sale = await dub.track.sale({
      customerExternalId: 'sdk-1',
      amount: 9900,
      currency: 'usd',
      invoiceId: 'sdk-invoice-1',
    });
    expect(sale).toMatchObject({ sale: { amount: 9900, currency: 'usd' } });

    const listed = <T>(event: 'clicks' | 'leads' | 'sales', check: (found: unknown) => T) =>
      waitFor(async () => check((await dub.events.list({ event, linkId: link.id }))[0]), {
        what: `the event among ${event}`,
        timeoutMs: LISTED_WITHIN_MS,
      });
    expect(await listed('clicks', (found) => found)).toMatchObject({
      event: 'click',
      // No edge is configured, so geo headers are ignored.
      click: { id: clickId, country: 'Unknown', device: 'Mobile' },
      link: { id: link.id, clicks: 1 },
    });
    expect(await listed('leads', (found) => found)).toMatchObject({
      event: 'lead',
      eventName: 'Sign up',
      click: { id: clickId },
      customer: { externalId: 'sdk-1', email: 'ada@example.com' },
      metadata: { plan: 'pro' },
    });
    expect(await listed('sales', (found) => found)).toMatchObject({
      event: 'sale',
      sale: { amount: 9900, invoiceId: 'sdk-invoice-1' },
      click: { id: clickId },
      customer: { externalId: 'sdk-1' },
    });
  });
});
