import { randomBytes } from 'node:crypto';
import type { Scope } from '@waymark/contract';
import { CommandError } from './command-error.js';
import { findWorkspace } from './commands/workspace.js';
import { optionalText, type RawOption } from './option-values.js';
import { findTarget, withCatalog } from './stores.js';

/** Lifetime of a temporary key, for commands that are killed before they revoke it. */
const KEY_MS = 24 * 3_600_000;

/** When a temporary key that is created now expires, ISO 8601. */
export const keyExpiry = () => new Date(Date.now() + KEY_MS).toISOString();

/**
 * The URL of the API, without a slash at its end: `--api`, or else the API of the running stack.
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

/** Creates API keys for one command. */
export interface TemporaryKeys {
  /** Creates a key with the role owner and one scope. @returns the token */
  newKey(): Promise<string>;
  /** Revokes all keys of the command. Call it at its end. Never rejects. */
  revokeAll(): Promise<void>;
}

/**
 * @param workspace option with the id or slug; `default` without one
 * @param name prefix of the names of the keys, such as `Tail`
 * @param onStatus receives a message when a key cannot be revoked
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
          ...{ role: 'owner', scopes: [scope], expiresAt: keyExpiry() },
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
