import { rmSync } from 'node:fs';
import { insertRows } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { queueDepths } from '@waymark/event-queue';
import { startStores, storeSettings, type TestStores, temporaryDirectory, waitFor } from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from './run-cli.js';

const FAILED = `evt_${'a'.repeat(25)}`;
const DELIVERED = `evt_${'b'.repeat(25)}`;
const HOOK_URL = 'https://hooks.example/';

describe('waymark webhooks', { timeout: 120_000 }, () => {
  let stores: TestStores;
  let client: Redis;
  let dataDir: string;
  let workspaceId: string;
  let webhookId: string;

  const waymark = (...args: string[]) =>
    runCommand({ ...storeSettings(stores.redis, stores.database), DATA_DIR: dataDir }, ...args);

  /** Writes attempts to the log: id of the event, status of the response and body of the request. */
  const addAttempts = (...attempts: readonly (readonly [string, number, string])[]) =>
    insertRows(stores.database.client, {
      table: 'webhook_deliveries',
      columns: [
        'workspace_id',
        'webhook_id',
        'timestamp',
        'event_id',
        'event',
        'attempt',
        'url',
        'status',
        'request_body',
      ],
      rows: attempts.map(([eventId, status, body], index) => [
        parseResourceId('workspace', workspaceId) ?? '',
        parseResourceId('webhook', webhookId) ?? '',
        Date.now() - index,
        eventId,
        'link.updated',
        1,
        HOOK_URL,
        status,
        body,
      ]),
    });

  beforeAll(async () => {
    dataDir = temporaryDirectory('waymark-cli-');
    stores = await startStores();
    ({ client } = stores);
    const catalog = stores.catalog();
    const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'business' });
    workspaceId = workspace.id;
    ({ id: webhookId } = await catalog.webhooks.create(workspace.id, {
      name: 'Hook',
      url: HOOK_URL,
      triggers: ['link.updated'],
    }));
    await addAttempts([FAILED, 500, '{}'], [DELIVERED, 200, '{}']);
  });
  afterAll(async () => {
    await stores.close();
    rmSync(dataDir, { recursive: true });
  });

  it('deliveries lists attempts, with --failed only failed ones', async () => {
    const all = await waymark('webhooks', 'deliveries', '--workspace', 'acme');
    expect(all).toMatchObject({ code: 0, stderr: '' });
    expect(all.stdout).toContain(FAILED);
    expect(all.stdout).toContain(DELIVERED);
    const failed = await waymark('webhooks', 'deliveries', '--workspace', 'acme', '--failed', '--json');
    expect(JSON.parse(failed.stdout)).toMatchObject({ deliveries: [{ eventId: FAILED, webhookId, status: 500 }] });
  });

  it('replay queues events again, by id or all that failed', async () => {
    const named = await waymark('webhooks', 'replay', DELIVERED, '--workspace', 'acme', '--json');
    expect(JSON.parse(named.stdout)).toEqual({ replayed: 1 });
    const failed = await waymark('webhooks', 'replay', '--failed', '--webhook', webhookId, '--workspace', 'acme');
    expect(failed.stdout).toBe('1 queued\n');
    expect((await queueDepths(client)).webhook.waiting).toBe(2);
  });

  it('replay fails when there is nothing to replay', async () => {
    const refusals = [
      await waymark('webhooks', 'replay', '--workspace', 'acme'),
      await waymark('webhooks', 'replay', `evt_${'c'.repeat(25)}`, '--workspace', 'acme'),
      await waymark('webhooks', 'deliveries', '--workspace', 'acme', '--webhook', 'wh_none'),
    ];
    expect(refusals.map(({ code, stderr }) => [code, stderr])).toEqual([
      [1, 'waymark: give the ids of events, or --failed\n'],
      [1, 'waymark: no such event was delivered recently; see: waymark webhooks deliveries\n'],
      [1, 'waymark: the workspace has no webhook with the id wh_none\n'],
    ]);
  });

  it('replay refuses while the plan of the workspace does not include webhooks', async () => {
    const { workspaces } = stores.catalog();
    await workspaces.update(workspaceId, (workspace) => ({ ...workspace, plan: 'pro' }));
    const { code, stderr } = await waymark('webhooks', 'replay', '--failed', '--workspace', 'acme');
    await workspaces.update(workspaceId, (workspace) => ({ ...workspace, plan: 'business' }));
    expect([code, stderr]).toEqual([
      1,
      'waymark: the plan of the workspace does not include webhooks, so nothing is delivered\n',
    ]);
  });

  it('a replay that fails between two events says how many are queued, and how to go on without sending them twice', async () => {
    const ids = Array.from({ length: 51 }, (_, index) => `evt_${String(index).padStart(25, '0')}`);
    // With fifty of these bodies, more bytes are queued than may be, so that the replay waits before the last one.
    await client.hset(`{waymark}:state:webhook-bodies:${workspaceId}`, 'sum', 15_900_000);
    await addAttempts(...ids.map((id) => [id, 500, 'x'.repeat(330_000)] as const));
    const replay = waymark('webhooks', 'replay', ...ids, '--workspace', 'acme');
    const searches = () => client.keys('*webhook-bodies-searched*');
    await waitFor(async () => (await searches()).length === 1, { what: 'the replay to wait', timeoutMs: 60_000 });
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const { code, stderr } = await replay;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^waymark: 50 of 51 events are queued, the others are not \(.+\)\. The same command would /);
    expect(stderr).toContain('wait until they are delivered, then add --failed, which leaves them out\n');
  });
});
