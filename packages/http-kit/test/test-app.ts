import { Writable } from 'node:stream';
import type { ApiKeyRecord, WorkspaceRecord } from '@waymark/catalog';
import { type App, type CreateAppOptions, createApp, createLogger } from '../src/index.js';

export const DOC_BASE = 'https://docs.example.com';

/** An app with defaults; its log lines go to `lines`, none is lost to the console. */
export function aTestApp(
  options: Partial<CreateAppOptions> = {},
  addRoutes: (app: App) => void | Promise<void> = () => {},
): { app: App; lines: () => string } {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const app = createApp({
    logger: createLogger({ name: 'test', level: 'debug', destination }),
    docBase: DOC_BASE,
    trustedProxies: ['127.0.0.0/8', '::1/128'],
    ...options,
  });
  app.register(async (routes) => addRoutes(routes as App));
  return { app, lines: () => text };
}

const AT = '2026-01-01T00:00:00.000Z';

export function aWorkspace(fields: Partial<WorkspaceRecord> = {}): WorkspaceRecord {
  return {
    id: 'ws_00000000001',
    workspaceId: 'ws_00000000001',
    createdAt: AT,
    updatedAt: AT,
    name: 'Acme',
    slug: 'acme',
    plan: 'enterprise',
    allowedHostnames: [],
    requestsPerMinute: null,
    analyticsPerSecond: null,
    quotas: {},
    defaultProgramId: null,
    publishableKeyHash: null,
    ...fields,
  };
}

export function anApiKey(fields: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    id: 'key_00000000001',
    workspaceId: 'ws_00000000001',
    createdAt: AT,
    updatedAt: AT,
    name: 'test',
    keyHash: 'a'.repeat(64),
    partialKey: 'dub...abcd',
    kind: 'secret',
    role: 'owner',
    scopes: [],
    userId: null,
    expiresAt: null,
    ...fields,
  };
}

/** A promise that the test resolves. */
export function aGate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
