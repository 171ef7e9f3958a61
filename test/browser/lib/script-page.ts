import { scriptResponse } from '@waymark/browser-script';
import { type ScriptFeature, scriptPath } from '@waymark/contract';
import type { Browser } from 'playwright-core';
import { newVisitor, type Visitor } from './chromium.js';

const SCRIPTS = 'https://go.acme.com';

/** A request that the script has sent to the API. */
export interface Sent {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A page with the browser script, whose API is played by the test. */
export interface ScriptPage extends Visitor {
  /** What the script has sent until now. */
  readonly sent: readonly Sent[];
  /** Opens another address in the same profile. */
  open(address: string): Promise<void>;
  /** The cookies of the profile that have this name, as `domain=value`. */
  cookies(name: string): Promise<string[]>;
}

export interface ScriptPageOptions {
  readonly features?: readonly ScriptFeature[];
  /** Of the script's tag. */
  readonly attributes?: string;
  /** HTML of the body. */
  readonly body?: string;
  /** JavaScript that runs before the page's own. */
  readonly before?: string;
  /** The answer of the API; `{ clickId: 'click-1' }` by default. */
  readonly answer?: (sent: Sent) => object;
  /** Warnings and errors that the test causes. */
  readonly expected?: readonly RegExp[];
}

/** Opens a page on any https address, without a server: the browser gets page, script and answers of the API from this process. */
export async function openScriptPage(
  browser: Browser,
  address: string,
  options: ScriptPageOptions = {},
): Promise<ScriptPage> {
  const { features = [], attributes = '', body = '', before, answer = () => ({ clickId: 'click-1' }) } = options;
  const visitor = await newVisitor(browser, {}, options.expected);
  const { context, page } = visitor;
  const path = scriptPath(features);
  const sent: Sent[] = [];
  await context.route('**/*', async (route) => {
    const request = route.request();
    const url = new URL(request.url());
    if (url.origin !== SCRIPTS) {
      const head = `<link rel="icon" href="data:,"><script defer src="${SCRIPTS}${path}" ${attributes}></script>`;
      return route.fulfill({
        contentType: 'text/html',
        body: `<!doctype html><head>${head}</head><body>${body}</body>`,
      });
    }
    if (url.pathname === path) {
      return route.fulfill({ contentType: 'text/javascript', body: scriptResponse(path, {}).body });
    }
    const report = { path: url.pathname, body: request.postDataJSON() as Sent['body'] };
    sent.push(report);
    return route.fulfill({ headers: { 'access-control-allow-origin': '*' }, json: answer(report) });
  });
  if (before !== undefined) await context.addInitScript({ content: before });
  const open = async (next: string) => {
    await page.goto(next);
    await page.waitForFunction('window._dubAnalytics');
  };
  await open(address);
  return {
    ...visitor,
    sent,
    open,
    cookies: async (name) =>
      (await context.cookies())
        .filter((cookie) => cookie.name === name)
        .map(({ domain, value }) => `${domain}=${value}`),
  };
}
