import { randomBytes } from 'node:crypto';
import type { Scope } from '@waymark/contract';
import { CommandError } from './command-error.js';
import { findWorkspace } from './commands/workspace.js';
import { optionalText, type RawOption } from './option-values.js';
import { findTarget, withCatalog } from './stores.js';

/** A key that is not revoked, because the command was killed, expires after a day. */
const KEY_MS = 24 * 3_600_000;

/**
 * The URL of the API, without a slash at its end: that of `--api`, or that of the running stack.
 *
 * @throws CommandError when there is neither
 */
export function apiUrl(option: RawOption): string {
  const { stack, settings } = findTarget();
  const api = optionalText('api', option)?.replace(/\/$/, '') ?? stack?.api;
  if (api !== undefined) return api;
  throw new CommandError(
    `no stack is running on ${settings.dataDir}: start it with \`npm run up\`, set DATA_DIR, or set --api`,
  );
}

/** API keys for one command. */
export interface TemporaryKeys {
  /** Makes a key of an owner with one scope. */
  newKey(): Promise<string>;
  /** Revokes all of them. Call it at the end of the command; it never throws. */
  revokeAll(): Promise<void>;
}

/**
 * @param workspace id or slug
 * @param name begins the names of the keys, such as `Tail`
 * @param onStatus receives, in words, that a key could not be revoked
 */
export function createTemporaryKeys(
  workspace: RawOption,
  name: string,
  scope: Scope,
  onStatus: (text: string) => void,
): TemporaryKeys {
  const made: { readonly workspaceId: string; readonly id: string }[] = [];
  return {
    newKey: () =>
      withCatalog(async (catalog) => {
        const { id: workspaceId } = await findWorkspace(catalog, optionalText('workspace', workspace) ?? 'default');
        const { record, token } = await catalog.keys.create({
          ...{ workspaceId, kind: 'secret', name: `${name} ${randomBytes(3).toString('hex')}` },
          ...{ role: 'owner', scopes: [scope], expiresAt: new Date(Date.now() + KEY_MS).toISOString() },
        });
        made.push({ workspaceId, id: record.id });
        return token;
      }),
    revokeAll: () =>
      withCatalog(async (catalog) => {
        for (const { workspaceId, id } of made.splice(0)) await catalog.keys.revoke(workspaceId, id);
      }).catch(() => onStatus('the key of this command could not be revoked; it expires in a day')),
  };
}
