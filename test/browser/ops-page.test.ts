import { createApp, createLogger } from '@waymark/http-kit';
import { opsRoutes } from '@waymark/management';
import { type ComponentWatch, startComponentWatch } from '@waymark/observability';
import type { OpsAnswer } from '@waymark/ops-page';
import { createRateLimiter, type RateLimiter } from '@waymark/rate-limit';
import { createTestDatabase, startRedis, type TestDatabase, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { hasChromium, newVisitor, startChromium } from './lib/chromium.js';
import { writeOpsHistory } from './lib/ops-history.js';

const ADMIN_KEY = 'an-admin-key-of-at-least-32-characters';
const PLOTS = 12;
/** The page refreshes every five seconds. */
const REFRESHED_WITHIN_MS = 15_000;

/** Whether something is drawn on every visible canvas. */
const ALL_ARE_DRAWN = `[...document.querySelectorAll('.plot canvas')].every((canvas) =>
  canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte !== 0))`;
const OVERFLOW_PX = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

describe.skipIf(!hasChromium)('the operations page', () => {
  const logger = createLogger({ name: 'ops', level: 'silent' });
  let database: TestDatabase;
  let redis: TestRedis;
  let connection: Redis;
  let rateLimiter: RateLimiter;
  let watch: ComponentWatch;
  let browser: Browser;
  let app: ReturnType<typeof createApp>;
  let url: string;

  beforeAll(async () => {
    [database, redis, browser] = await Promise.all([createTestDatabase(), startRedis(), startChromium()]);
    connection = new Redis(redis.url, { commandTimeout: 2000 });
    rateLimiter = createRateLimiter(connection, { instanceKey: Buffer.alloc(32), logger });
    const { client: clickhouse } = database;
    watch = startComponentWatch({ redis: connection, clickhouse, service: 'http', version: '0.1.0', logger });
    app = createApp({ logger, docBase: 'http://localhost/docs', trustedProxies: [] });
    const { componentStatus } = watch;
    app.register((scope) =>
      opsRoutes(scope as typeof app, {
        adminKeys: [ADMIN_KEY],
        rateLimiter,
        clickhouse,
        queueShards: [connection],
        componentStatus,
        now: Date.now,
      }),
    );
    url = await app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    await Promise.all([browser.close(), app.close()]);
    await watch.close();
    await rateLimiter.close();
    connection.disconnect();
    await Promise.all([database.drop(), redis.stop()]);
  });
  /** A page of the test's own, closed at its end, which fails for faults other than the expected ones. */
  async function open(
    { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
    options: BrowserContextOptions = {},
    expected: readonly RegExp[] = [],
  ): Promise<Page> {
    const httpCredentials = { username: 'operator', password: ADMIN_KEY };
    const visitor = await newVisitor(browser, { httpCredentials, ...options }, expected);
    onTestFinished(async () => {
      const faults = [...visitor.faults];
      await visitor.close();
      expect(faults).toEqual([]);
    });
    await visitor.page.goto(`${url}/ops`);
    await visitor.page.getByText(/^Updated/).waitFor();
    return visitor.page;
  }

  const latest = (page: Page, panel: string, series: string) =>
    page.locator(`#${panel}`).getByRole('row', { name: series }).getByRole('cell').first();

  it.each(['/ops', '/ops/data', '/ops/assets/main.js', '/ops/queues', '/ops/queues/api/queues'])(
    'does not show %s without the admin key',
    async (path) => {
      const answer = await fetch(`${url}${path}`);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
    },
  );

  it('asks the script of a page for the key without a login prompt', async () => {
    const answer = await fetch(`${url}/ops/data`, { headers: { accept: 'application/json' } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="Waymark operators"');
  });

  it('shows a text while there is no data, and draws new data without a reload', async (context) => {
    const page = await open(context);
    const events = page.locator('#events');
    await events.getByText('No events were stored in this range.').waitFor();
    expect(await page.locator('.plot canvas').count()).toBe(0);

    await writeOpsHistory(database.client, 4 * 3600);
    await waitFor(async () => (await page.locator('.plot canvas').count()) === PLOTS, {
      what: 'every plot',
      timeoutMs: REFRESHED_WITHIN_MS,
    });
    expect(await page.evaluate(ALL_ARE_DRAWN)).toBe(true);
    await latest(page, 'events', 'clicks')
      .getByText(/^[\d.]+k\/min$/)
      .waitFor();
    await latest(page, 'redis-memory', 'limit').getByText('512 MiB').waitFor();
    expect(await page.locator('.note:visible').allTextContents()).toEqual([]);
  });

  // Pages of their own, which mostly wait for the next refresh, at the same time.
  it.concurrent.for([
    ['light', { colorScheme: 'light' }, 'rgb(246, 247, 248)'],
    ['dark', { colorScheme: 'dark' }, 'rgb(16, 18, 20)'],
    ['on a phone', { colorScheme: 'light', viewport: { width: 390, height: 844 } }, 'rgb(246, 247, 248)'],
  ] as const)('fits and is drawn %s', async ([, options, ground], context) => {
    const page = await open(context, options);
    await waitFor(() => page.evaluate(ALL_ARE_DRAWN), { what: 'the plots' });
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(ground);
    expect(await page.evaluate(OVERFLOW_PX)).toBe(0);
  });

  it.concurrent('calls a value present only while it is measured', async (context) => {
    const page = await open(context, {}, [/ops\/data/]);
    const used = latest(page, 'redis-memory', 'used');
    await used.getByText('MiB').waitFor();
    await page.route('**/ops/data*', async (route) => {
      const response = await route.fetch({ headers: { authorization: `Bearer ${ADMIN_KEY}` } });
      const answer = (await response.json()) as OpsAnswer;
      const { times = [], series = [] } = answer.plots['redis-memory'] ?? {};
      const cut = series.map((one) => ({
        ...one,
        values: one.values.map((value, index) => (index < 200 ? value : null)),
      }));
      await route.fulfill({
        response,
        json: { ...answer, plots: { ...answer.plots, 'redis-memory': { times, series: cut } } },
      });
    });
    await used.getByText('–').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it.concurrent('shows components and tables', async (context) => {
    const page = await open(context);
    for (const component of ['redis', 'clickhouse', 'http']) {
      await page.locator(`#components [data-component="${component}"][data-state="up"]`).waitFor();
    }
    await page.locator('#slow-queries').getByRole('cell', { name: 'TIMEOUT_EXCEEDED' }).waitFor();
    await page.locator('#workspaces').getByRole('cell', { name: 'acme' }).waitFor();
    await page.locator('#tables').getByRole('cell', { name: 'ops_samples' }).waitFor();
  });

  it.concurrent('shows the times in tables in the zone of the browser, with their day', async (context) => {
    const page = await open(context, { timezoneId: 'Pacific/Kiritimati' });
    const time = page.locator('#slow-queries time').first();
    const at = new Date((await time.getAttribute('datetime')) ?? '');
    const zone = { timeZone: 'Pacific/Kiritimati' } as const;
    const day = at.toLocaleDateString('en-GB', { ...zone, day: 'numeric', month: 'short' });
    expect(await time.textContent()).toBe(`${day}, ${at.toLocaleTimeString('en-GB', zone)}`);
  });

  it.concurrent('says so when it cannot show an answer', async (context) => {
    const page = await open(context, {}, [/ops\/assets/]);
    await page.route('**/ops/data*', (route) => route.fulfill({ json: {} }));
    await page.getByText(/^This page cannot show the answer of the API: load it again\. Values are of /).waitFor();
  });

  it.concurrent('changes the range without a reload', async (context) => {
    const page = await open(context, {}, [/^failed: .*\/ops\/data\?range=1h: net::ERR_ABORTED$/]);
    const moment = page.locator('#events .legend-moment');
    await page.locator('#events .plot').focus();
    await page.keyboard.press('Home');
    const anHourAgo = await moment.textContent();
    await page.getByRole('link', { name: '24 hours' }).click();
    await waitFor(async () => (await moment.textContent()) !== anHourAgo, { what: 'the longer plot' });
    expect(page.url()).toBe(`${url}/ops?range=24h`);
    await page.getByRole('link', { name: '24 hours', exact: true }).and(page.locator('[aria-current=true]')).waitFor();
  });

  it.concurrent('shows no numbers of another range in a panel that cannot be read', async (context) => {
    const page = await open(context, {}, [/ops\/data/]);
    const panels = ['#events figure', '#workspaces table', '#requests figure'].map((panel) => page.locator(panel));
    for (const panel of panels) await panel.waitFor();
    await page.route('**/ops/data*', async (route) => {
      const response = await route.fetch({ headers: { authorization: `Bearer ${ADMIN_KEY}` } });
      const { plots, tables, ...answer } = (await response.json()) as OpsAnswer;
      const [{ events: _events, ...others }, { workspaces: _workspaces, ...otherTables }] = [plots, tables];
      const failures = { events: 'Not read.', workspaces: 'Not read.' };
      await route.fulfill({ response, json: { ...answer, plots: others, tables: otherTables, failures } });
    });
    await page.locator('#events').getByText('Not read. Shown as of ').waitFor();
    expect(await panels[0]?.isVisible()).toBe(true);
    await page.getByRole('link', { name: '24 hours' }).click();
    await page.locator('#events').getByText('Not read.', { exact: true }).waitFor();
    await page.locator('#workspaces').getByText('Not read.', { exact: true }).waitFor();
    expect(await Promise.all(panels.map((panel) => panel.isVisible()))).toEqual([false, false, true]);

    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.route('**/ops/data*', (route) => route.abort());
    await page.getByRole('link', { name: '7 days' }).click();
    await page.getByText(/^The API does not answer\. /).waitFor();
    expect(await Promise.all(panels.map((panel) => panel.isVisible()))).toEqual([false, false, false]);
  });

  it.concurrent('is accessible by keyboard and screen reader', async (context) => {
    const page = await open(context);
    const plot = page.getByRole('img', { name: /^Plot: Events stored/ });
    const moment = page.locator('#events .legend-moment');
    expect(await moment.textContent()).toBe('now');
    // Again where a refresh of the page has replaced the plot meanwhile.
    const showsTime = async () => {
      await plot.focus();
      await page.keyboard.press('ArrowLeft');
      return /^\d+ \w+, \d\d:\d\d:\d\d$/.test((await moment.textContent()) ?? '');
    };
    await waitFor(showsTime, { what: 'a time' });
    await page.keyboard.press('Escape');
    await waitFor(async () => (await moment.textContent()) === 'now', { what: 'the present values' });
    await page.getByRole('status').getByText('All components are up.').waitFor({ state: 'attached' });
  });

  it.concurrent('keeps the last values when the API does not answer, with their time', async (context) => {
    const page = await open(context, {}, [/ops\/data/]);
    const shown = await latest(page, 'requests', '3xx').textContent();
    await page.route('**/ops/data*', (route) => route.abort());
    await page.getByText(/^The API does not answer\. Values are of \d\d:\d\d:\d\d\.$/).waitFor();
    expect(await latest(page, 'requests', '3xx').textContent()).toBe(shown);
    await page.unroute('**/ops/data*');
    await page.getByText(/^Updated/).waitFor();
  });

  it.concurrent('stops refreshing while hidden, and refreshes at once when visible', async (context) => {
    const page = await open(context);
    const setHidden = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await setHidden(true);
    let requests = 0;
    page.on('request', () => {
      requests += 1;
    });
    // Another page, opened later, refreshes in the meantime.
    const other = await open(context);
    await other.waitForResponse(/\/ops\/data/);
    expect(requests).toBe(0);
    await setHidden(false);
    await waitFor(() => requests === 1, { what: 'a request' });
  });

  it.concurrent('requests nothing more when the key is no longer accepted, until it is loaded again', async (context) => {
    const page = await open(context, {}, [/ops\/data/]);
    let requests = 0;
    await page.route('**/ops/data*', (route) => {
      requests += 1;
      return route.fulfill({ status: 401, json: {} });
    });
    await page.getByText(/^The admin key is no longer accepted: load the page again\. Values are of /).waitFor();
    expect(requests).toBe(1);
    // Another page, opened later, refreshes in the meantime.
    const other = await open(context);
    await other.waitForResponse(/\/ops\/data/);
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    expect(requests).toBe(1);
    await page.unrouteAll();
    await page.getByRole('link', { name: '6 hours' }).click();
    await page.getByText(/^Updated/).waitFor();
  });

  it.concurrent('says that it is paused, and counts no ages on', async (context) => {
    const page = await open(context);
    const age = page.locator('#components [data-component="clickhouse"] time').first();
    await page.evaluate('const since = Date.now; Date.now = () => since() + 7_200_000');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/^Paused\. Values are of .*\d\d:\d\d:\d\d\.$/).waitFor();
    await page.locator('html[data-stale]').waitFor();
    expect(await age.textContent()).toMatch(/^\d+ (?:s|min)$/);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('html:not([data-stale])').waitFor();
    await page.getByText(/^Updated/).waitFor();
  });

  it.concurrent('links to the queues, which show jobs without their content and accept no commands', async (context) => {
    const row = ['secret-visitor', '203.0.113.77'];
    const job = { name: 'click', data: JSON.stringify({ v: 1, rows: [row] }), opts: '{}', timestamp: Date.now() };
    await connection.hset('{waymark}:click:a-job', { ...job, failedReason: `not a number: ${row}` });
    await connection.lpush('{waymark}:click:wait', 'a-job');
    // The second page cancels requests that the first one has not finished.
    const page = await open(context, {}, [/^failed: .*\/ops\/queues\/.*: net::ERR_ABORTED$/]);
    await page.getByRole('link', { name: 'Queues' }).click();
    await page.getByText('dead-letter').first().waitFor();
    await page.goto(`${url}/ops/queues/queue/click/a-job`);
    await page.getByText('1 entries, not shown').waitFor();
    expect(await page.content()).not.toMatch(/secret-visitor|203\.0\.113\.77/);
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    const api = `${url}/ops/queues/api/queues`;
    expect(await (await fetch(`${api}?activeQueue=click`, { headers })).text()).not.toMatch(/secret-visitor/);
    expect((await fetch(`${api}/click/a-job/clean`, { method: 'PUT', headers })).status).toBe(403);
  });

  it('opens while Redis is down, and shows it as down', async (context) => {
    await redis.kill9();
    const page = await open(context);
    await page.locator('#components [data-component="redis"][data-state="down"]').waitFor();
    await page
      .getByRole('status')
      .getByText(/redis down: /)
      .waitFor({ state: 'attached' });
    expect(await page.evaluate(ALL_ARE_DRAWN)).toBe(true);
    expect(await page.locator('.note:visible').allTextContents()).toEqual([]);
    await redis.restart();
    await page.locator('#components [data-component="redis"]:not([data-state="down"])').waitFor();
  });

  it('shows an error for a panel that cannot be read, and the other panels', async (context) => {
    const page = await open(context);
    await database.client.command({ query: 'DROP VIEW ops_disk' });
    await page
      .locator('#disks')
      .getByText(/^This panel could not be read; .* Shown as of \d\d:\d\d:\d\d\.$/)
      .waitFor();
    // A panel whose query takes too long on a busy machine has a note until the next refresh.
    await waitFor(async () => (await page.locator('.note:visible').count()) === 1, {
      what: 'the other panels without notes',
      timeoutMs: REFRESHED_WITHIN_MS,
    });
  });
});
