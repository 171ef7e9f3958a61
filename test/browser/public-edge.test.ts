import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentWith } from '@waymark/config';
import { waitFor } from '@waymark/test-kit';
import { Dub } from 'dub';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  removeUp,
  runUp,
  temporaryDataDir,
  UP_MS_MAX,
  type Up,
} from '../../services/standalone/test/process/run-up.js';
import { hasChromium, newVisitor, startChromium, type Visitor } from './lib/chromium.js';
import { type Site, startSite } from './lib/site.js';

const ROOT = join(import.meta.dirname, '../..');
const LISTED_WITHIN_MS = 15_000;
/** Browsers resolve every name under `localhost` to this machine, and accept `Secure` cookies for it. */
const DOMAIN = 'go.localhost';
/** A site whose domain is also a short domain, so that its page views are clicks. */
const SITE_DOMAIN = 'shop.localhost';
const UNFURLER = 'Mozilla/5.0 (compatible; Slackbot-LinkExpanding 1.0; +https://api.slack.com/robots)';

interface Workspace {
  readonly apiKey: string;
  readonly publishableKey: string;
}

describe.skipIf(!hasChromium)('a real browser', { timeout: 120_000 }, () => {
  let up: Up;
  let site: Site;
  let browser: Browser;
  let dub: Dub;
  let api: string;
  let workspace: Workspace;
  const visitors: Visitor[] = [];
  let linkOrigin: string;
  /** The browser script, from the link domain, on the pages that are for it. */
  const tagOf = (path: string) =>
    path.startsWith('/scripted')
      ? `<script src="${linkOrigin}/analytics/script.conversion-tracking.js" data-short-domain="${DOMAIN}"` +
        ` data-publishable-key="${workspace.publishableKey}"${path.endsWith('/consent') ? ' data-consent="required"' : ''}></script>`
      : undefined;
  /** URL of a short link on the port of this stack. */
  let shortLink: (key: string) => string;

  beforeAll(async () => {
    up = runUp(temporaryDataDir());
    const { api: apiUrl, links } = await up.ready();
    api = apiUrl;
    shortLink = (key) => `http://${DOMAIN}:${new URL(links).port}/${key}`;
    linkOrigin = new URL(shortLink('')).origin;
    site = await startSite({ api, links: linkOrigin, tagOf });
    workspace = await waymark<Workspace>('workspace', 'create', '--slug', 'shop', '--domain', DOMAIN);
    await waymark('workspace', 'update', 'shop', '--allowed-hostnames', '*.localhost');
    dub = new Dub({ token: workspace.apiKey, serverURL: api });
    await dub.domains.create({ slug: SITE_DOMAIN });
    browser = await startChromium();
  }, UP_MS_MAX);
  afterAll(async () => {
    await browser.close();
    await site.close();
    await up.stop();
    await removeUp(up);
  }, 60_000);
  afterEach(async () => {
    const faults = visitors.flatMap((visitor) => visitor.faults);
    await Promise.all(visitors.splice(0).map((visitor) => visitor.close()));
    expect(faults).toEqual([]);
  });

  async function waymark<T>(...args: string[]): Promise<T> {
    const entry = join(ROOT, 'services/cli/bin/waymark.mjs');
    const env = environmentWith({ DATA_DIR: up.dataDir });
    const { stdout } = await promisify(execFile)(process.execPath, [entry, ...args, '--json'], { env });
    return JSON.parse(stdout) as T;
  }

  async function visit(...options: Parameters<typeof newVisitor> extends [unknown, ...infer Rest] ? Rest : never) {
    const visitor = await newVisitor(browser, ...options);
    visitors.push(visitor);
    return visitor.page;
  }

  /** Waits for the single event of its kind on a link. */
  function listed(event: 'clicks' | 'leads' | 'sales', linkId: string) {
    return waitFor(
      async () => {
        const events = await dub.events.list({ event, linkId });
        expect(events.length).toBeLessThan(2);
        return events[0];
      },
      { what: `the event among ${event}`, timeoutMs: LISTED_WITHIN_MS },
    );
  }

  it('reports policy violations of a page as faults', async () => {
    const { page, faults, close } = await newVisitor(browser);
    await page.goto(site.url('shop'));
    await page.evaluate('fetch("http://other.localhost:1/").catch(() => {})');
    await waitFor(() => faults.some((fault) => fault.includes('policy violated: connect-src')), { what: 'the fault' });
    await close();
  });

  it('follows a link, and its click is listed', async () => {
    const link = await dub.links.create({ url: site.url('shop', '/plain'), domain: DOMAIN, key: 'plain' });
    const page = await visit();
    await page.goto(shortLink('plain'));
    expect(page.url()).toBe(site.url('shop', '/plain'));
    expect(await listed('clicks', link.id)).toMatchObject({
      click: { trigger: 'link', browser: 'Chrome', os: 'Linux', device: 'Desktop' },
    });
  });

  it('the script of a link domain attributes a lead and a sale to the link that is named in the address of the page', async () => {
    const url = site.url('shop', '/scripted');
    const link = await dub.links.create({ url, domain: DOMAIN, key: 'ada', trackConversion: true });
    const page = await visit();
    await page.goto(`${url}?via=ada`);
    const cookie = await waitFor(async () => (await page.context().cookies()).find(({ name }) => name === 'dub_id'), {
      what: 'the cookie',
    });
    expect(Math.round((cookie.expires * 1000 - Date.now()) / 86_400_000)).toBe(90);
    const click = await listed('clicks', link.id);
    expect(click).toMatchObject({ click: { id: cookie.value } });

    const customerExternalId = 'scripted';
    await page.evaluate(
      `dubAnalytics.trackLead({ eventName: 'Sign up', customerExternalId: '${customerExternalId}' })`,
    );
    expect(await listed('leads', link.id)).toMatchObject({ customer: { externalId: customerExternalId } });
    await page.evaluate(`dubAnalytics.trackSale({ customerExternalId: '${customerExternalId}', amount: 5000 })`);
    expect(await listed('sales', link.id)).toMatchObject({ sale: { amount: 5000 } });
  });

  it('the script with data-consent="required" sends and stores nothing before the consent', async () => {
    const url = site.url('shop', '/scripted/consent');
    const link = await dub.links.create({ url, domain: DOMAIN, key: 'asked' });
    const page = await visit();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${url}?via=asked`);
    expect(await page.evaluate('typeof dubAnalytics')).toBe('function');
    expect([await page.context().cookies(), asked.filter((path) => path.startsWith('/track/'))]).toEqual([[], []]);
    await page.evaluate('dubAnalytics.consent()');
    const { click } = await listed('clicks', link.id);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: 'dub_id', value: click.id });
  });

  it('opens a link only with its password, and stays unlocked', async () => {
    const url = site.url('shop', '/members');
    await dub.links.create({ url, domain: DOMAIN, key: 'members', password: 'open sesame' });
    const page = await visit({}, [/^error at .*\/members: .* status of 401/]);
    const open = async (password: string) => {
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Open' }).click();
    };
    await page.goto(shortLink('members'));
    await open('open barley');
    await page.getByText('That is not the password of this link.').waitFor();
    expect(page.url()).toBe(shortLink('members'));
    await open('open sesame');
    await page.waitForURL(url);

    await page.goto(shortLink('members'));
    expect(page.url()).toBe(url);
    const stranger = await visit({}, [/^error at .*\/members: .* status of 401/]);
    await stranger.goto(shortLink('members'));
    await stranger.getByText('This link opens only with its password.').waitFor();
  });

  it('shows the destination of a cloaked link under the URL of the link', async () => {
    const url = site.url('shop', '/behind');
    const link = await dub.links.create({ url, domain: DOMAIN, key: 'cloaked', rewrite: true, title: 'The <shop>' });
    const page = await visit();
    await page.goto(shortLink('cloaked'));
    expect(page.url()).toBe(shortLink('cloaked'));
    expect(await page.title()).toBe('The <shop>');
    await page.frameLocator('iframe').getByRole('heading', { name: 'Shop /behind' }).waitFor();
    const [frame, viewport] = [await page.locator('iframe').boundingBox(), page.viewportSize()];
    expect(frame).toEqual({ x: 0, y: 0, ...viewport });
    await listed('clicks', link.id);
  });

  it('shows a preview page to preview bots, and redirects people', async () => {
    await dub.links.create({
      url: site.url('shop', '/offer'),
      domain: DOMAIN,
      key: 'offer',
      proxy: true,
      title: 'Half price & "more"',
      description: '<b>Only today</b>',
      image: 'https://images.example.com/offer.png',
    });
    const preview = await visit({ userAgent: UNFURLER });
    await preview.goto(shortLink('offer'));
    expect(preview.url()).toBe(shortLink('offer'));
    await preview.getByRole('heading', { name: 'Half price & "more"' }).waitFor();
    await preview.getByText('<b>Only today</b>').waitFor();
    const tag = (name: string) => preview.locator(`meta[property="${name}"]`).getAttribute('content');
    expect(await tag('og:title')).toBe('Half price & "more"');
    expect(await tag('og:image')).toBe('https://images.example.com/offer.png');

    const person = await visit();
    await person.goto(shortLink('offer'));
    expect(person.url()).toBe(site.url('shop', '/offer'));
  });

  describe('in a page with the tracking calls', () => {
    async function report(page: Page, path: string, body: object, publishableKey?: string) {
      const words = [api, path, body, publishableKey].map((value) => JSON.stringify(value) ?? 'undefined');
      const answer = (await page.evaluate(`window.report(${words.join(', ')})`)) as {
        readonly status: number;
        readonly body: Readonly<Record<string, unknown>>;
      };
      expect(answer).toMatchObject({ status: 200 });
      return answer.body;
    }

    it('reports conversions of the click that led to it', async () => {
      const url = site.url('shop', '/pricing');
      const link = await dub.links.create({ url, domain: DOMAIN, key: 'pricing', trackConversion: true });
      const page = await visit();
      await page.goto(shortLink('pricing'));
      const clickId = new URL(page.url()).searchParams.get('dub_id');
      expect(await listed('clicks', link.id)).toMatchObject({ click: { id: clickId } });

      const customerExternalId = 'browser-1';
      const key = workspace.publishableKey;
      const lead = { clickId, eventName: 'Sign up', customerExternalId, customerEmail: 'ada@example.com' };
      expect(await report(page, '/track/lead/client', lead, key)).toMatchObject({ click: { id: clickId } });
      const sale = { customerExternalId, amount: 4900, currency: 'usd', invoiceId: 'browser-invoice-1' };
      expect(await report(page, '/track/sale/client', sale, key)).toMatchObject({ sale: { amount: 4900 } });

      expect(await listed('leads', link.id)).toMatchObject({ eventName: 'Sign up', click: { id: clickId } });
      expect(await listed('sales', link.id)).toMatchObject({ sale: { amount: 4900 }, click: { id: clickId } });
    });

    it('reports a click, a page view and the opening of an app', async () => {
      const [clicked, viewed, opened] = await Promise.all([
        dub.links.create({ url: site.url('shop', '/clicked'), domain: DOMAIN, key: 'clicked' }),
        dub.links.create({ url: site.url('shop', '/docs/start'), domain: SITE_DOMAIN, key: 'docs/start' }),
        dub.links.create({ url: site.url('shop', '/opened'), domain: DOMAIN, key: 'opened' }),
      ]);
      const page = await visit();
      await page.goto(site.url('shop', '/docs/start'));

      const click = await report(page, '/track/click', { domain: DOMAIN, key: 'clicked', url: page.url() });
      const view = await report(page, '/track/visit', { domain: SITE_DOMAIN, url: page.url() });
      const open = await report(page, '/track/open', { deepLink: `https://${DOMAIN}/opened` });

      for (const [link, { clickId }, trigger] of [
        [clicked, click, 'link'],
        [viewed, view, 'pageview'],
        [opened, open, 'deeplink'],
      ] as const) {
        expect(await listed('clicks', link.id)).toMatchObject({ click: { id: clickId, trigger } });
      }
    });
  });
});
