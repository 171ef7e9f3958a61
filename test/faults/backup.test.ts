import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Link } from '@waymark/contract';
import { leastOf, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compareWithStore } from './stack/compare-with-store.js';
import { RunningStack } from './stack/running-stack.js';
import { type SentEvents, Traffic } from './stack/traffic.js';
import { untilDrained } from './until-drained.js';

// Steps: traffic, a backup during traffic, more traffic, the loss of all data, a restore, and a check of the restored data.

const VISITORS = 16;
const EVENTS_AROUND = 200;
const DOMAIN = 'go.drill.test';

let stack: RunningStack;
let directory: string;

beforeAll(async () => {
  stack = await RunningStack.start();
  directory = temporaryDirectory('waymark-backup-');
});

afterAll(async () => {
  await stack?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const progress = (traffic: Traffic, count: number, from = traffic.acknowledged) =>
  waitFor(() => traffic.acknowledged >= from + count, { timeoutMs: 150_000, what: `${count} more events` });

/** A copy of the events acknowledged so far. */
function copyOf(sentEvents: SentEvents): SentEvents {
  const { clickIds, leadCustomers, saleInvoices } = sentEvents;
  return {
    ...sentEvents,
    clickIds: new Set(clickIds),
    leadCustomers: new Set(leadCustomers),
    saleInvoices: new Set(saleInvoices),
  };
}

/** Creates a workspace with a domain, and functions that call the API with its key. */
async function aWorkspace() {
  const made = await stack.waymark('workspace', 'create', '--name', 'Drill', '--slug', 'drill', '--domain', DOMAIN);
  const headers = { authorization: `Bearer ${String(made.apiKey)}`, 'content-type': 'application/json' };
  const create = (body: object) =>
    fetch(`${stack.state.api}/links`, { method: 'POST', headers, body: JSON.stringify({ domain: DOMAIN, ...body }) });
  const find = async (key: string) => {
    const answer = await fetch(`${stack.state.api}/links/info?domain=${DOMAIN}&key=${key}`, { headers });
    return (await answer.json()) as Link;
  };
  return { create, find };
}

describe('backup and restore of a running stack', () => {
  test('after the loss of all data, every event acknowledged before the backup is restored once', async () => {
    const acme = await aWorkspace();
    const secret = { key: 'secret', url: 'https://example.com/secret', password: 'correct horse' };
    expect((await acme.create(secret)).status).toBe(200);
    const traffic = await Traffic.prepare(stack);
    const running = traffic.run(VISITORS);
    await progress(traffic, EVENTS_AROUND);

    let before = copyOf(traffic.sentEvents);
    const pausedMs = async () => {
      rmSync(join(directory, 'monday'), { recursive: true, force: true });
      before = copyOf(traffic.sentEvents);
      return Number((await stack.waymark('backup', join(directory, 'monday'))).pausedMs);
    };
    expect(await leastOf(5000, pausedMs, 3)).toBeLessThanOrEqual(5000);
    await progress(traffic, EVENTS_AROUND);
    traffic.stop();
    await running;
    traffic.close();
    expect([...traffic.sentEvents.failedRedirects, ...traffic.sentEvents.failedTracks]).toEqual([]);
    expect((await acme.create({ key: 'later', url: 'https://example.com/later' })).status).toBe(200);

    const manifest = JSON.parse(readFileSync(join(directory, 'monday', 'backup.json'), 'utf8'));
    expect(manifest.keys).toMatchObject({ current: expect.any(String) });
    await stack.lose();
    expect(existsSync(stack.dataDir)).toBe(false);
    await stack.waymark('restore', join(directory, 'monday'));
    await stack.up();
    await untilDrained(stack.state.redis, 60_000);

    const { acknowledged, ...differences } = await compareWithStore(stack.state.clickhouse, before);
    expect(differences).toEqual({ lost: [], twice: [], viewsDiffer: [] });
    expect(acknowledged).toBeGreaterThanOrEqual(EVENTS_AROUND);

    expect((await acme.create(secret)).status).toBe(409);
    expect((await acme.create({ key: 'later', url: 'https://example.com/later' })).status).toBe(200);
    expect(await acme.find('secret')).toMatchObject({ password: 'correct horse' });
  }, 900_000);

  test('backup and restore never overwrite data, and restore rejects an incomplete backup', async () => {
    await expect(stack.waymark('backup', directory)).rejects.toThrow('already exists');
    await expect(stack.waymark('restore', join(directory, 'monday'))).rejects.toThrow('stop it first');
    const environment = { DATA_DIR: join(directory, 'elsewhere') };
    await expect(stack.waymarkWith(environment, 'restore', directory)).rejects.toThrow('not a complete backup');
    const damaged = join(directory, 'damaged');
    cpSync(join(directory, 'monday'), damaged, { recursive: true, verbatimSymlinks: true });
    rmSync(join(damaged, 'instance.key'));
    await expect(stack.waymarkWith(environment, 'restore', damaged)).rejects.toThrow('is damaged');
    await expect(stack.waymarkWith(environment, 'backup', join(directory, 'none'))).rejects.toThrow(
      'nothing to back up',
    );
  }, 120_000);
});
