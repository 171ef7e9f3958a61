import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environmentWith, type RunState } from '@waymark/config';
import { waitFor } from '@waymark/test-kit';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { migratedDataDir, removeUp, runUp, UP_MS_MAX, type Up } from '../../services/standalone/test/process/run-up.js';
import { hasChromium, newVisitor, startChromium, type Visitor } from './lib/chromium.js';

const ROOT = join(import.meta.dirname, '../..');
/** Longest time until the page shows a change. */
const SHOWN_WITHIN_MS = 15_000;

describe.skipIf(!hasChromium)('the operations page of a running stack', { timeout: 120_000 }, () => {
  let up: Up;
  let state: RunState;
  let browser: Browser;
  let visitor: Visitor;
  let page: Page;

  beforeAll(async () => {
    up = runUp(await migratedDataDir());
    state = await up.ready();
    const password = readFileSync(join(up.dataDir, 'admin.key'), 'utf8').trim();
    browser = await startChromium();
    visitor = await newVisitor(browser, { httpCredentials: { username: 'operator', password } });
    page = visitor.page;
    await page.goto(`${state.api}/ops`);
    await page.getByText(/^Updated/).waitFor();
  }, UP_MS_MAX);
  afterAll(async () => {
    await browser.close();
    await up.stop();
    await removeUp(up);
  });
  afterEach(() => expect(visitor.faults).toEqual([]));

  /** Waits until the page shows a component in this state, and returns its text. */
  async function shownText(component: string, expected: string): Promise<string> {
    const card = page.locator(`#components [data-component="${component}"][data-state="${expected}"]`);
    await card.waitFor({ timeout: SHOWN_WITHIN_MS });
    return (await card.textContent()) ?? '';
  }

  it('shows every component as up', async () => {
    for (const component of ['redis', 'clickhouse', 'http', 'writer']) await shownText(component, 'up');
  });

  it('shows live plots of the demo', async () => {
    const env = environmentWith({ DATA_DIR: up.dataDir });
    const waymark = join(ROOT, 'services/cli/bin/waymark.mjs');
    await promisify(execFile)(process.execPath, [waymark, 'demo', '--seconds', '8', '--rate', '30'], { env });
    for (const panel of ['events', 'lag', 'batches', 'inserts', 'queue', 'redis-memory']) {
      await page.locator(`#${panel} .plot canvas`).waitFor({ timeout: 60_000 });
    }
    await page.locator('#workspaces').getByRole('cell', { name: 'default' }).waitFor();
    await page.locator('#tables').getByRole('cell', { name: 'click_events' }).waitFor();
    // A panel whose query takes too long on a busy machine has a note until the next refresh.
    await waitFor(async () => (await page.locator('.note:visible').count()) === 0, {
      what: 'panels without notes',
    });
  });

  it('shows that a writer was killed, and that it is back', async () => {
    process.kill(state.pids.writer, 'SIGKILL');
    expect(await shownText('writer', 'restarted')).toMatch(new RegExp(`:${state.pids.writer} was killed .* ago`));
    await page
      .getByRole('status')
      .getByText(/^writer restarted: /)
      .waitFor({ state: 'attached' });
  });

  it('shows that ClickHouse hangs, keeps the last values, and recovers', async () => {
    const pid = up.state()?.pids.clickhouse ?? 0;
    const events = page.locator('#events');
    process.kill(pid, 'SIGSTOP');
    try {
      expect(await shownText('clickhouse', 'down')).toMatch(/no answer within/);
      await events.getByText(/^ClickHouse does not answer\. Shown as of (?:\d+ \w+, )?\d\d:\d\d:\d\d\.$/).waitFor();
      expect(await events.locator('canvas').count()).toBe(1);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await waitFor(async () => !(await events.locator('.note').isVisible()), {
      what: 'fresh values',
    });
  });
});
