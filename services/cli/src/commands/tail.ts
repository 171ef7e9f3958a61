import { randomBytes } from 'node:crypto';
import { eventsStreamQuerySchema } from '@waymark/contract';
import { CommandError } from '../command-error.js';
import { optionalText, type RawOption } from '../option-values.js';
import { findTarget, withCatalog } from '../stores.js';
import { followEvents } from '../tail/follow-events.js';
import { findWorkspace } from './workspace.js';

/** The parameters of `GET /events/stream`, and where to ask for it. */
export type TailOptions = Readonly<Record<string, RawOption>>;

/** A key that is not revoked, because the command was killed, expires after a day. One that expires meanwhile is replaced. */
const KEY_MS = 24 * 3_600_000;

function streamUrl(options: TailOptions): string {
  const { stack, settings } = findTarget();
  const api = optionalText('api', options.api) ?? stack?.api;
  if (api === undefined) {
    throw new CommandError(
      `no stack is running on ${settings.dataDir}: start it with \`npm run up\`, set DATA_DIR, or set --api`,
    );
  }
  const parameters = Object.keys(eventsStreamQuerySchema.out.shape).flatMap((name): [string, string][] => {
    const value = optionalText(name, options[name]);
    return value === undefined ? [] : [[name, value]];
  });
  return `${api}/events/stream?${new URLSearchParams(parameters)}`;
}

/** Makes keys for one command, and revokes them at its end. */
function createKeys(workspace: string) {
  const made: { readonly workspaceId: string; readonly id: string }[] = [];
  return {
    newKey: () =>
      withCatalog(async (catalog) => {
        const { id: workspaceId } = await findWorkspace(catalog, workspace);
        const { record, token } = await catalog.keys.create({
          ...{ workspaceId, kind: 'secret', name: `Tail ${randomBytes(3).toString('hex')}` },
          ...{ role: 'owner', scopes: ['analytics.read'], expiresAt: new Date(Date.now() + KEY_MS).toISOString() },
        });
        made.push({ workspaceId, id: record.id });
        return token;
      }),
    revokeAll: () =>
      withCatalog(async (catalog) => {
        for (const { workspaceId, id } of made.splice(0)) await catalog.keys.revoke(workspaceId, id);
      }),
  };
}

/**
 * Prints events as they are stored, a line of JSON each, until it is interrupted or nobody reads its output. Everything else goes to
 * standard error.
 */
export async function tailEvents(options: TailOptions): Promise<undefined> {
  const url = streamUrl(options);
  const keys = createKeys(optionalText('workspace', options.workspace) ?? 'default');
  const stop = new AbortController();
  const onEnd = () => stop.abort();
  const onStatus = (text: string) => console.error(`waymark: ${text}`);
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, onEnd);
  // The reader has ended, such as `head`.
  process.stdout.on('error', onEnd);
  try {
    await followEvents({
      ...{ url, newKey: keys.newKey, onStatus, signal: stop.signal },
      onEvent: (json) => void process.stdout.write(`${json}\n`),
    });
  } finally {
    for (const signal of signals) process.off(signal, onEnd);
    process.stdout.off('error', onEnd);
    await keys.revokeAll().catch(() => onStatus('the key of this command could not be revoked; it expires in a day'));
  }
  return undefined;
}
