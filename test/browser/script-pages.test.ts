import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from './lib/chromium.js';
import { openScriptPage, type ScriptPage, type ScriptPageOptions } from './lib/script-page.js';

const REFER = `data-domains='{"refer":"go.acme.com"}'`;

describe.skipIf(!hasChromium)('the browser script in a page', { timeout: 60_000 }, () => {
  let browser: Browser;
  const opened: ScriptPage[] = [];
  beforeAll(async () => {
    browser = await startChromium();
  }, 60_000);
  afterAll(() => browser.close());
  afterEach(async () => {
    const faults = opened.flatMap((script) => script.faults);
    await Promise.all(opened.splice(0).map((script) => script.close()));
    expect(faults).toEqual([]);
  });

  async function pageAt(address: string, options: ScriptPageOptions = {}): Promise<ScriptPage> {
    const script = await openScriptPage(browser, address, options);
    opened.push(script);
    return script;
  }

  describe('while the browser prerenders it', () => {
    /** Makes a page one that is prerendered, until `show()`. */
    const before = `
      let isHidden = true;
      Object.defineProperty(Document.prototype, 'prerendering', { get: () => isHidden });
      window.show = () => { isHidden = false; document.dispatchEvent(new Event('prerenderingchange')); };
    `;

    it('sends and stores nothing, and reports the click and what was called when it is shown', async () => {
      const { page, sent, cookies } = await pageAt('https://acme.com/?via=ada', {
        before,
        attributes: REFER,
        features: ['conversion-tracking'],
      });
      await page.evaluate(`window.answers = [dubAnalytics.trackSale({ amount: 1 }).then(() => 'sale')]`);
      await page.evaluate(`dubAnalytics('ready', () => answers.push('ready')) && 0`);
      expect([sent, await cookies('dub_id'), await page.evaluate('window.DubAnalytics')]).toEqual([[], [], undefined]);
      await page.evaluate('show()');
      await page.waitForFunction('answers.length === 2');
      expect(await page.evaluate('answers[0]')).toBe('sale');
      expect(sent.map(({ path }) => path)).toEqual(['/track/click', '/track/sale/client']);
      expect(await cookies('dub_id')).toEqual(['.acme.com=click-1']);
    });

    it('returns promises also to a listener of the page that is called when it is shown', async () => {
      const { page, sent } = await pageAt('https://acme.com/', {
        before: `${before} document.addEventListener('prerenderingchange', () => {
          window.sale = dubAnalytics.trackSale({ amount: 1 }).then(() => 'sale');
        });`,
        features: ['conversion-tracking'],
      });
      await page.evaluate('show()');
      expect(await page.evaluate('sale')).toBe('sale');
      expect(sent.map(({ path }) => path)).toEqual(['/track/sale/client']);
    });

    it('reads the address at which it is shown', async () => {
      const { page, sent, cookies } = await pageAt('https://acme.com/', { before, attributes: REFER });
      const address = 'https://acme.com/?dub_id=click-1&via=ada';
      await page.evaluate(`history.replaceState(null, '', '${address}'); show()`);
      await page.evaluate(`new Promise((done) => dubAnalytics('ready', done))`);
      expect(sent.map(({ body }) => [body.key, body.url])).toEqual([['ada', address]]);
      expect(await cookies('dub_id')).toEqual(['.acme.com=click-1']);
    });

    it('keeps a consent that is given meanwhile', async () => {
      const { page, sent, cookies } = await pageAt('https://acme.com/?dub_id=click-2', {
        before,
        attributes: 'data-consent="required"',
      });
      await page.evaluate('void dubAnalytics.consent()');
      expect(await cookies('dub_id')).toEqual([]);
      await page.evaluate('show()');
      await page.waitForFunction('window.DubAnalytics');
      expect([sent, await cookies('dub_id')]).toEqual([[], ['.acme.com=click-2']]);
    });
  });

  describe('with outbound domains', () => {
    /** The hrefs of the page once they have been passed a click id, without the origin that all of them have. */
    const hrefs = (page: Page, origin: string) =>
      page.evaluate(`[...document.links].map(({ href }) => href.replace('${origin}', ''))`);

    it('keeps the query of a link as it is, and replaces only a click id', async () => {
      const queries = [
        'flag&q=a%20b+c&sig=x~*y/z',
        '',
        'dub_id=old&a&&b=dub_id=2',
        'a=1#part',
        'dub%5Fid=1&%64ub_id&a=1',
        '?a=1',
        'dub_id=old&?dub_id=2',
        'dub_id=click-1&a=',
      ];
      const links = queries.map(
        (query) => `<a href="https://pay.acme.com/i?${query.replaceAll('&', '&amp;')}">pay</a>`,
      );
      const { page } = await pageAt('https://acme.com/?dub_id=click-1', {
        features: ['outbound-domains'],
        attributes: `data-domains='{"outbound":["pay.acme.com"]}'`,
        body: links.join(''),
      });
      const own = 'dub_id=click-1';
      expect(await hrefs(page, 'https://pay.acme.com/i?')).toEqual([
        `flag&q=a%20b+c&sig=x~*y/z&${own}`,
        own,
        `a&&b=dub_id=2&${own}`,
        `a=1&${own}#part`,
        `a=1&${own}`,
        `?a=1&${own}`,
        `?dub_id=2&${own}`,
        `${own}&a=`,
      ]);
    });

    it('accepts hosts in any form, and resolves links against the base of the page', async () => {
      const entries = [
        'Pay.Acme.com',
        'münchen.de',
        'https://a.example/path',
        'b.example:8443',
        '*.Shop.example',
        'https://*.d.example/path',
        'www.c.example',
      ];
      const addresses = [
        'https://pay.acme.com/',
        'https://münchen.de/',
        'https://www.a.example/',
        'http://b.example/',
        'https://x.shop.example/',
        'https://x.d.example/',
        'https://c.example/',
        'relative',
        'https://shop.example/',
      ];
      const { page } = await pageAt('https://acme.com/?dub_id=click-1', {
        features: ['outbound-domains'],
        attributes: `data-domains='${JSON.stringify({ outbound: entries })}'`,
        body: `<base href="https://pay.acme.com/base/">${addresses.map((href) => `<a href="${href}">x</a>`).join('')}`,
      });
      const passed = addresses.map((_, index) => index < addresses.length - 1);
      expect(await page.evaluate(`[...document.links].map(({ href }) => href.endsWith('?dub_id=click-1'))`)).toEqual(
        passed,
      );
    });

    it('passes over entries that are no hosts, and a list that is none', async () => {
      const body = '<a href="https://b.example/">b</a>';
      for (const outbound of [null, 5, ['http://', 'b.example'], ' b.example,, ']) {
        const { page } = await pageAt('https://acme.com/?dub_id=click-1', {
          features: ['outbound-domains'],
          attributes: `data-domains='${JSON.stringify({ outbound })}'`,
          body,
          expected: [/http:\/\/ in outbound is not a host/],
        });
        const isListed = String(outbound).includes('b.example');
        expect(await hrefs(page, 'https://b.example/')).toEqual([isListed ? '?dub_id=click-1' : '']);
      }
    });
  });

  describe('called by the page', () => {
    const features = ['conversion-tracking'] as const;

    it('a lead gets the stored click id in place of an empty one, and a console line says that it has none', async () => {
      const { page, sent, open } = await pageAt('https://acme.com/', {
        features,
        expected: [/a lead without a click id is not sent/],
      });
      const warning = page.waitForEvent('console');
      expect(await page.evaluate(`dubAnalytics.trackLead({ eventName: 'none' })`)).toBeUndefined();
      expect((await warning).text()).toBe('[dubAnalytics] a lead without a click id is not sent');
      await open('https://acme.com/?dub_id=click-1');
      await page.evaluate(`Promise.all(
        [undefined, null, '', 'own'].map((clickId) => dubAnalytics.trackLead({ clickId, eventName: 'a' }))
      )`);
      await page.evaluate(`dubAnalytics.trackLead({ eventName: 'absent' })`);
      const ids = sent.map(({ body }) => body.clickId);
      expect(ids).toEqual(['click-1', 'click-1', 'click-1', 'own', 'click-1']);
    });

    it('a click has the address at the time of the call, or the one that the call names', async () => {
      const { page, sent } = await pageAt('https://acme.com/landing?via=ada', { attributes: REFER });
      await page.evaluate(`history.pushState(null, '', '/pricing')`);
      expect(await page.evaluate(`dubAnalytics.trackClick({ key: 'bob' })`)).toMatchObject({ clickId: 'click-1' });
      await page.evaluate(`dubAnalytics.trackClick({ key: 'eve', url: 'https://acme.com/own' })`);
      expect(sent.map(({ body }) => [body.domain, body.key, body.url])).toEqual([
        ['go.acme.com', 'ada', 'https://acme.com/landing?via=ada'],
        ['go.acme.com', 'bob', 'https://acme.com/pricing'],
        ['go.acme.com', 'eve', 'https://acme.com/own'],
      ]);
    });

    it('a click that waits for the consent has the address at the time of the call', async () => {
      const { page, sent } = await pageAt('https://acme.com/', { attributes: `${REFER} data-consent="required"` });
      for (const key of ['pricing', 'about']) {
        await page.evaluate(`history.pushState(null, '', '/${key}'); dubAnalytics.trackClick({ key: '${key}' }) && 0`);
      }
      await page.evaluate(`history.pushState(null, '', '/checkout'); dubAnalytics.consent()`);
      await page.evaluate(`dubAnalytics.trackClick({ key: 'last' })`);
      await page.evaluate(`new Promise((done) => dubAnalytics('ready', done))`);
      expect(sent.map(({ body }) => [body.key, body.url])).toEqual([
        ['pricing', 'https://acme.com/pricing'],
        ['about', 'https://acme.com/about'],
        ['last', 'https://acme.com/checkout'],
      ]);
    });

    it('calls at once are all sent, and outlive the page as long as they have at most 64 KiB together', async () => {
      const { page, sent } = await pageAt('https://acme.com/?dub_id=click-1', {
        features,
        before: `const { fetch } = window; window.kept = [];
          window.fetch = (url, options) => { kept.push(options.keepalive); return fetch(url, options); };`,
      });
      /** Sends leads at once, each with so many characters of three bytes. Returns which of them outlive the page. */
      const leads = async (...lengths: number[]) => {
        await page.evaluate(`Promise.all(${JSON.stringify(lengths)}.map((length) =>
          dubAnalytics.trackLead({ eventName: 'a', metadata: { text: '長'.repeat(length) } })))`);
        return page.evaluate('kept.splice(0)');
      };
      expect(await leads(9900, 9900, 9900, 9900, 1)).toEqual([true, true, false, false, true]);
      // Those before have ended.
      expect(await leads(9900)).toEqual([true]);
      expect(await leads(9900, 9900)).toEqual([true, true]);
      expect(await leads(...Array(19).fill(1300))).toEqual([...Array(16).fill(true), ...Array(3).fill(false)]);
      expect(sent).toHaveLength(27);
    });

    it('a call of another variant, or of no method, is a line in the console and sends nothing', async () => {
      const { page, sent } = await pageAt('https://acme.com/?dub_id=click-1', {
        before: `window.dubAnalytics = { q: [['trackSale', {}]] }`,
        expected: [/this script has no track/],
      });
      const lines: string[] = [];
      page.on('console', (message) => lines.push(message.text()));
      await page.evaluate(`dubAnalytics.trackLead({ eventName: 'a' }).then(() => dubAnalytics('trackLaed', {}))`);
      expect(lines).toEqual(['trackLead', 'trackLaed'].map((name) => `[dubAnalytics] this script has no ${name}`));
      expect(sent).toEqual([]);
    });
  });

  describe('with cookies of its name for the host and for its parent domain', () => {
    it.each([
      ['the newest counts', '', 'click-2'],
      ['the oldest counts with the attribution model first-click', 'data-attribution-model="first-click"', 'click-1'],
    ])('%s', async (_what, attributes, expected) => {
      const script = await pageAt('https://app.acme.com/?dub_id=click-1', {
        features: ['conversion-tracking'],
        attributes,
      });
      await script.open('https://acme.com/?dub_id=click-2');
      expect(await script.cookies('dub_id')).toEqual(['.app.acme.com=click-1', '.acme.com=click-2']);
      await script.open('https://app.acme.com/');
      await script.page.evaluate(`dubAnalytics.trackLead({ eventName: 'a' })`);
      expect(script.sent.map(({ body }) => body.clickId)).toEqual([expected]);
    });

    it('the newest is also one that was stored before another, and is stored again', async () => {
      const script = await pageAt('https://app.acme.com/?dub_id=click-1', { features: ['conversion-tracking'] });
      for (const address of ['acme.com/?dub_id=click-2', 'app.acme.com/?dub_id=click-1', 'app.acme.com/']) {
        await script.open(`https://${address}`);
      }
      expect((await script.cookies('dub_id')).sort()).toEqual(['.acme.com=click-2', '.app.acme.com=click-1']);
      await script.page.evaluate(`dubAnalytics.trackLead({ eventName: 'a' })`);
      expect(script.sent.map(({ body }) => body.clickId)).toEqual(['click-1']);
    });

    it('a tag with a path replaces the cookie from before it had one', async () => {
      const script = await pageAt('https://acme.com/shop/?dub_id=click-2', {
        attributes: `data-cookie-options='{"path":"/shop"}'`,
        before: `if (!document.cookie) document.cookie = 'dub_id=click-1; Path=/; Max-Age=999; Domain=.acme.com';`,
      });
      expect(await script.cookies('dub_id')).toEqual(['.acme.com=click-2']);
    });

    it('a tag with a domain replaces the cookie from before it had one', async () => {
      const shared = { attributes: `data-cookie-options='{"domain":".acme.com"}'` };
      const script = await pageAt('https://app.acme.com/?dub_id=click-2', {
        ...shared,
        before: `if (!document.cookie) document.cookie = 'dub_id=click-1; Path=/; Max-Age=999; Domain=.app.acme.com';`,
      });
      expect(await script.cookies('dub_id')).toEqual(['.acme.com=click-2']);
    });
  });

  describe('with the partner of a click', () => {
    const bob = { id: 'pn_bob', name: 'Bob', image: null };
    const answers: Record<string, object> = {
      bob: { clickId: 'click-bob', partner: bob, discount: null },
      eve: {
        clickId: 'click-eve',
        partner: { id: 'pn_eve', name: 'Eve', image: `data:image/png;base64,${'A'.repeat(4000)}` },
        discount: null,
      },
      long: { clickId: 'click-long', partner: { id: 'pn_long', name: '長'.repeat(450), image: null }, discount: null },
      // Short enough for the value of a cookie, but not for all of one.
      line: { clickId: 'click-line', partner: { id: 'pn_line', name: 'L', image: 'A'.repeat(3850) }, discount: null },
      discount: { clickId: 'click-discount', partner: bob, discount: { id: 'd'.repeat(4000) } },
      private: { clickId: '', partner: { id: 'pn_private', name: 'P', image: null }, discount: null },
    };
    const options = (attributes = ''): ScriptPageOptions => ({
      attributes: `${REFER} ${attributes}`,
      answer: ({ body }) => answers[String(body.key)] ?? {},
    });
    /** The partner that the page shows, the one that is stored, and the stored click ids. */
    async function shown({ page, cookies }: ScriptPage) {
      const name = await page.evaluate(
        `new Promise((done) => dubAnalytics('ready', () => done(DubAnalytics.partner?.id ?? null)))`,
      );
      const [stored] = await cookies('dub_partner_data');
      const data = stored === undefined ? undefined : JSON.parse(stored.slice(stored.indexOf('=') + 1));
      return [name, data?.partner?.id, data?.clickId, ...(await cookies('dub_id'))];
    }

    it('shows and stores a partner whose image is too long for a cookie, without the image', async () => {
      const script = await pageAt('https://acme.com/?via=bob', options());
      expect(await shown(script)).toEqual(['pn_bob', 'pn_bob', 'click-bob', '.acme.com=click-bob']);
      await script.open('https://acme.com/?via=eve');
      expect(await shown(script)).toEqual(['pn_eve', 'pn_eve', 'click-eve', '.acme.com=click-eve']);
      expect(await script.page.evaluate('DubAnalytics.partner.image.length')).toBeGreaterThan(4000);
      await script.open('https://acme.com/');
      expect(await shown(script)).toEqual(['pn_eve', 'pn_eve', 'click-eve', '.acme.com=click-eve']);
      expect(await script.page.evaluate('DubAnalytics.partner.image')).toBeNull();
      await script.open('https://acme.com/?via=long');
      expect(await shown(script)).toEqual(['pn_long', undefined, 'click-long', '.acme.com=click-long']);
      await script.open('https://acme.com/?via=line');
      await script.open('https://acme.com/');
      expect(await shown(script)).toEqual(['pn_line', 'pn_line', 'click-line', '.acme.com=click-line']);
      expect(await script.page.evaluate('DubAnalytics.partner.image')).toBeNull();
      await script.open('https://acme.com/?via=discount');
      expect(await shown(script)).toEqual(['pn_bob', undefined, undefined, '.acme.com=click-discount']);
      await script.open('https://acme.com/');
      expect(await script.page.evaluate('DubAnalytics')).toEqual({ partner: null, discount: null });
    });

    it('shows the partner without storing anything if the click has no id, and leaves an earlier click', async () => {
      const script = await pageAt('https://acme.com/?via=private', options());
      expect(await shown(script)).toEqual(['pn_private', undefined, undefined]);
      expect(await script.context.cookies()).toEqual([]);
      for (const key of ['bob', 'private']) {
        await script.open(`https://acme.com/?via=${key}`);
        expect(await shown(script)).toEqual(['pn_bob', 'pn_bob', 'click-bob', '.acme.com=click-bob']);
      }
    });
  });

  it.each([
    [`data-query-params='"ref"'`, 'data-query-params is not a JSON list'],
    [`data-query-params='null'`, 'data-query-params is not a JSON list'],
    [`data-query-params='{}'`, 'data-query-params is not a JSON list'],
    [`data-cookie-options='null'`, 'data-cookie-options is not a JSON object'],
    [`data-cookie-options='[1]'`, 'data-cookie-options is not a JSON object'],
    [`data-cookie-options='{domain}'`, 'data-cookie-options is not a JSON object'],
  ])('passes over %s with a warning', async (attributes, warning) => {
    const { page, sent, cookies, faults } = await openScriptPage(browser, 'https://acme.com/?via=ada', {
      attributes: `${attributes} ${REFER}`,
    });
    await page.evaluate(`new Promise((done) => dubAnalytics('ready', done))`);
    expect(sent.map(({ path }) => path)).toEqual(['/track/click']);
    expect(await cookies('dub_id')).toEqual(['.acme.com=click-1']);
    expect(faults).toEqual([expect.stringContaining(warning)]);
    await page.context().close();
  });
});
