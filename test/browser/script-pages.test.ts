import type { Browser } from 'playwright-core';
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
});
