import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentWith } from '@waymark/config';
import { waitFor } from '@waymark/test-kit';
import { Dub } from 'dub';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { migratedDataDir, removeUp, runUp, UP_MS_MAX, type Up } from '../../services/standalone/test/process/run-up.js';
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
  /** Where the browser script comes from: a link domain. */
  let scripts: string;
  let workspace: Workspace;
  const visitors: Visitor[] = [];
  /** URL of a short link on the port of this stack. */
  let shortLink: (key: string) => string;

  beforeAll(async () => {
    up = runUp(await migratedDataDir());
    const { api: apiUrl, links } = await up.ready();
    api = apiUrl;
    shortLink = (key) => `http://${DOMAIN}:${new URL(links).port}/${key}`;
    scripts = new URL(shortLink('')).origin;
    site = await startSite(api, scripts);
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
  });
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
    await page.goto(`${shortLink('cloaked')}?pw=secret`);
    expect(page.url()).toBe(`${shortLink('cloaked')}?pw=secret`);
    expect(await page.title()).toBe('The <shop>');
    await page.frameLocator('iframe').getByRole('heading', { name: 'Shop /behind' }).waitFor();
    expect(await page.frames()[1]?.evaluate('document.referrer')).toBe(new URL('/', page.url()).href);
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

  describe('in a page with the browser script of a link domain', () => {
    const cookieOf = async (page: Page, name: string) =>
      (await page.context().cookies()).find((cookie) => cookie.name === name);
    const cookieWhen = (page: Page, name: string) =>
      waitFor(() => cookieOf(page, name), { what: `the cookie ${name}` });

    it('the published loader keeps the click of a link, and reports its lead and sale', async () => {
      const props = {
        publishableKey: workspace.publishableKey,
        scriptProps: { src: `${scripts}/analytics/script.conversion-tracking.js` },
      };
      site.addPage(
        '/loader',
        `<meta name="loader" content='${JSON.stringify(props)}'><script type="module" src="/inject.js"></script>`,
      );
      const url = site.url('shop', '/loader');
      const link = await dub.links.create({ url, domain: DOMAIN, key: 'loader', trackConversion: true });
      const page = await visit();
      await page.goto(shortLink('loader'));
      const clickId = new URL(page.url()).searchParams.get('dub_id');
      await page.waitForSelector('html[data-injected]');
      // The loader queues these if they come before the script.
      const lead = { eventName: 'Sign up', customerExternalId: 'loader-1', customerEmail: 'eve@example.com' };
      await page.evaluate(`void dubAnalytics.trackLead(${JSON.stringify(lead)})`);
      expect(await listed('leads', link.id)).toMatchObject({ eventName: 'Sign up', click: { id: clickId } });
      // On another page of the site: the cookie has the click now.
      await page.goto(url);
      await page.waitForSelector('html[data-injected]');
      const sale = { customerExternalId: 'loader-1', amount: 1900, invoiceId: 'loader-invoice' };
      await page.evaluate(`void dubAnalytics.trackSale(${JSON.stringify(sale)})`);
      expect(await listed('sales', link.id)).toMatchObject({ sale: { amount: 1900 }, click: { id: clickId } });

      const cookie = await cookieWhen(page, 'dub_id');
      expect(cookie).toMatchObject({ value: clickId, domain: '.shop.localhost', path: '/', sameSite: 'Lax' });
      const days = ((cookie?.expires ?? 0) * 1000 - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(89.9);
      expect(days).toBeLessThanOrEqual(90);
    });

    it('a plain tag with its hash reports the click of a partner’s link in the address, and its conversions', async () => {
      const partner = await dub.partners.create({ name: 'Ada; "L"', email: 'ada@partners.example', username: 'ada' });
      const { id, key } = partner.links?.[0] ?? { id: '', key: '' };
      const args = ['--host', scripts, '--publishable-key', workspace.publishableKey, '--variant', 'outbound-domains'];
      const { tag } = await waymark<{ readonly tag: string }>('script', '--integrity', ...args);
      const domains = JSON.stringify({ refer: DOMAIN, outbound: ['pay.localhost', '*.acme.test'] });
      const attributes = `data-domains='${domains}' data-query-params='["ref","via"]' data-attribution-model="first-click"`;
      // During an upgrade a page has the hashes of both releases.
      const ofOtherRelease = `sha384-${'A'.repeat(64)}`;
      const bothHashes = tag.replace(' integrity="', ` integrity="${ofOtherRelease} `);
      site.addPage('/plain-tag', bothHashes.replace('<script ', `<script ${attributes} `));
      const page = await visit();
      await page.goto(site.url('shop', `/plain-tag?via=${key}`));

      const clickId = (await cookieWhen(page, 'dub_id'))?.value;
      expect(await listed('clicks', id)).toMatchObject({
        click: { id: clickId, trigger: 'link', referer: '(direct)' },
      });
      expect(
        await page.evaluate('new Promise((done) => dubAnalytics("ready", () => done(DubAnalytics)))'),
      ).toMatchObject({
        partner: { id: partner.id, name: 'Ada; "L"' },
        discount: null,
      });
      const stored = JSON.parse((await cookieOf(page, 'dub_partner_data'))?.value ?? '{}');
      expect(stored).toMatchObject({ clickId, partner: { id: partner.id, name: encodeURIComponent('Ada; "L"') } });

      const lead = { eventName: 'Sign up', customerExternalId: 'tag-1' };
      const answer = await page.evaluate(`dubAnalytics.trackLead(${JSON.stringify(lead)})`);
      expect(answer).toMatchObject({ click: { id: clickId } });
      await page.evaluate('void dubAnalytics.trackSale({ customerExternalId: "tag-1", amount: 700 })');
      expect(await listed('leads', id)).toMatchObject({ click: { id: clickId } });
      expect(await listed('sales', id)).toMatchObject({ sale: { amount: 700 }, click: { id: clickId } });

      const hrefs = ['http://www.pay.localhost/a', 'http://eu.acme.test/', 'http://acme.test/', '/own', 'mailto:a@b.c'];
      const passed = await page.evaluate(`new Promise((done) => {
        for (const href of ${JSON.stringify(hrefs)}) document.body.append(Object.assign(document.createElement('a'), { href }));
        setTimeout(() => done([...document.querySelectorAll('a')].map((link) => link.href.includes('dub_id=${clickId}'))));
      })`);
      expect(passed).toEqual([true, true, false, false, false]);

      // First click: a later one does not replace it.
      await page.goto(site.url('shop', '/plain-tag?dub_id=another'));
      await page.waitForFunction('window._dubAnalytics');
      expect((await cookieOf(page, 'dub_id'))?.value).toBe(clickId);
    });

    it('a partner’s short link brings its partner, in place of an earlier one unless the first click counts', async () => {
      const url = site.url('shop', '/brought');
      const partnerOf = async (username: string) => {
        const email = `${username}@partners.example`;
        const { id: partnerId, links } = await dub.partners.create({ name: username, email, username });
        const { id: linkId, key } = links?.[0] ?? { id: '', key: '' };
        await dub.links.update(linkId, { url });
        return { partnerId, linkId, key };
      };
      const [bob, eve] = [await partnerOf('bob'), await partnerOf('eve')];
      await dub.links.create({ url, domain: DOMAIN, key: 'nobody', trackConversion: true });
      const withVia = `${url}?via=${bob.key}`;
      await dub.links.create({ url: withVia, domain: DOMAIN, key: 'newsletter', trackConversion: true });
      const addPage = (attributes: string) => {
        const src = `${scripts}/analytics/script.js`;
        site.addPage(
          '/brought',
          `<script defer src="${src}" data-domains='{"refer":"${DOMAIN}"}' ${attributes}></script>`,
        );
      };
      /** Opens a page of the site, and returns the click id in its address, the stored one and the ids of the partner. */
      const brought = async (page: Page, address: string) => {
        await page.goto(address);
        const inAddress = new URL(page.url()).searchParams.get('dub_id');
        const partner = await page.evaluate(
          'new Promise((done) => dubAnalytics("ready", () => done(DubAnalytics.partner)))',
        );
        const stored = JSON.parse((await cookieOf(page, 'dub_partner_data'))?.value ?? '{}');
        const clickId = (await cookieOf(page, 'dub_id'))?.value;
        return { inAddress, clickId, partner, stored };
      };

      addPage('');
      const page = await visit();
      const first = await brought(page, withVia);
      expect(first).toMatchObject({ inAddress: null, partner: { id: bob.partnerId } });
      const second = await brought(page, shortLink(eve.key));
      const clickId = second.inAddress ?? '';
      const click = { clickId, partner: { id: eve.partnerId, name: 'eve' } };
      expect(second).toMatchObject({ ...click, stored: click });
      // Asking for the partner was not another click.
      expect(await listed('clicks', eve.linkId)).toMatchObject({ click: { id: clickId } });
      const reports: string[] = [];
      page.on('request', (request) => request.method() === 'POST' && reports.push(request.url()));
      expect([await brought(page, page.url()), reports]).toMatchObject([click, []]);
      const third = await brought(page, shortLink('nobody'));
      expect(third).toMatchObject({ clickId: third.inAddress, partner: null });
      // The partner of another link than the one that was clicked.
      const fourth = await brought(page, shortLink('newsletter'));
      expect(fourth).toMatchObject({ clickId: fourth.inAddress, partner: null });
      expect(reports).toEqual([`${scripts}/track/click`]);

      const failing = await visit({}, [/^error at .*: Failed to load resource: .* 500/, /\[dubAnalytics\] click/]);
      expect(await brought(failing, withVia)).toMatchObject({ partner: { id: bob.partnerId } });
      await failing.route('**/track/click', (route) =>
        route.fulfill({ status: 500, headers: { 'access-control-allow-origin': '*' }, json: { error: {} } }),
      );
      expect(await brought(failing, shortLink(eve.key))).toMatchObject({ clickId, partner: null });

      addPage('data-attribution-model="first-click"');
      const other = await visit();
      const kept = await brought(other, shortLink(eve.key));
      expect(kept).toMatchObject({ clickId: kept.inAddress, partner: { id: eve.partnerId } });
      const later = await brought(other, shortLink(bob.key));
      expect(later).toMatchObject({ clickId: kept.clickId, partner: { id: eve.partnerId } });
    });

    it('nothing is stored or sent before the consent that the tag requires, and a forged id never', async () => {
      const url = site.url('shop', '/docs/consent');
      const link = await dub.links.create({ url, domain: SITE_DOMAIN, key: 'docs/consent' });
      const attributes = `data-domains='{"site":"${SITE_DOMAIN}"}' data-consent="required" data-publishable-key="${workspace.publishableKey}"`;
      const src = `${scripts}/analytics/script.site-visit.conversion-tracking.js`;
      site.addPage('/docs/consent', `<script defer src="${src}" ${attributes}></script>`);
      const page = await visit();
      const sent: string[] = [];
      page.on('request', (request) => request.method() === 'POST' && sent.push(new URL(request.url()).pathname));
      await page.goto(`${url}?dub_id=${encodeURIComponent('forged; Domain=localhost')}`);
      await page.evaluate('void dubAnalytics.trackLead({ eventName: "Early", customerExternalId: "early" })');
      expect([sent, await page.context().cookies()]).toEqual([[], []]);

      await page.evaluate('void dubAnalytics.consent()');
      const cookie = await cookieWhen(page, 'dub_id');
      const direct = { trigger: 'pageview', referer: '(direct)', refererUrl: '(direct)' };
      expect(await listed('clicks', link.id)).toMatchObject({ click: { id: cookie?.value, ...direct } });
      // What was called before the consent is sent after it.
      expect(await listed('leads', link.id)).toMatchObject({ eventName: 'Early', click: { id: cookie?.value } });
      expect(sent).toEqual(['/track/visit', '/track/lead/client']);
    });
  });
});
