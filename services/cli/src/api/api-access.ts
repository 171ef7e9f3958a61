import { randomBytes } from 'node:crypto';
import type { Scope } from '@waymark/contract';
import { CommandError } from '../command-error.js';
import { findWorkspace } from '../commands/workspace.js';
import { addressOption, optionalText, type RawOption } from '../option-values.js';
import { printStatus } from '../output.js';
import { findTarget, withCatalog } from '../stores.js';
import { type ApiRequests, createApiRequests } from './api-requests.js';

/** Lifetime of a temporary key, for commands that are killed before they revoke it. */
const KEY_MS = 24 * 3_600_000;

/** The keys of one command. */
export interface TemporaryKeys {
  /** Id or slug of the workspace; undefined = `default`. */
  readonly workspace: RawOption;
  /** Prefix of the names of the keys, such as `Tail`. */
  readonly name: string;
  /** Of each key; none = all. */
  readonly scopes: readonly Scope[];
}

/**
 * Runs `work` with a function that creates API keys with the role owner. The keys are revoked at the end, and expire after a day where that
 * is not possible.
 */
export async function withTemporaryKeys<T>(
  { workspace, name, scopes }: TemporaryKeys,
  work: (newKey: () => Promise<string>) => Promise<T>,
): Promise<T> {
  const made: { readonly workspaceId: string; readonly id: string }[] = [];
  const newKey = () =>
    withCatalog(async (catalog) => {
      const { id: workspaceId } = await findWorkspace(catalog, optionalText('workspace', workspace) ?? 'default');
      const { record, token } = await catalog.keys.create({
        workspaceId,
        kind: 'secret',
        name: `${name} ${randomBytes(3).toString('hex')}`,
        role: 'owner',
        scopes: [...scopes],
        expiresAt: new Date(Date.now() + KEY_MS).toISOString(),
      });
      made.push({ workspaceId, id: record.id });
      return token;
    });
  const revokeAll = () =>
    withCatalog(async (catalog) => {
      for (const { workspaceId, id } of made) await catalog.keys.revoke(workspaceId, id);
    });
  try {
    return await work(newKey);
  } finally {
    if (made.length > 0) {
      await revokeAll().catch(() => printStatus('the key of this command could not be revoked; it expires in a day'));
    }
  }
}

/** Options of every command that calls the API. */
export interface ApiOptions {
  readonly workspace?: RawOption;
  readonly api?: RawOption;
}

/**
 * The URL of the API, without a slash at its end: `--api`, or else the API of the running stack.
 *
 * @throws CommandError when there is neither
 */
function apiUrl(option: RawOption): string {
  const { stack, settings } = findTarget();
  const api = addressOption('api', option) ?? stack?.api;
  if (api !== undefined) return api;
  throw new CommandError(
    `no stack is running on ${settings.dataDir}: start it with \`npm run up\`, set DATA_DIR, or set --api`,
  );
}

/** How a command uses the API. */
export interface ApiAccess {
  /** Prefix of the names of its keys, such as `Tail`. */
  readonly name: string;
  readonly scope: Scope;
  /** Ends all requests with its reason. */
  readonly signal: AbortSignal;
  /** Milliseconds without progress after which {@link ApiRequests.untilDone} gives up; ten minutes by default. */
  readonly giveUpAfterMs?: number;
}

/** Runs `work` with requests to the API, and with temporary keys. Errors after which a request is repeated are printed on standard error. */
export function withApi<T>(
  { workspace, api: option }: ApiOptions,
  { name, scope, ...access }: ApiAccess,
  work: (api: ApiRequests) => Promise<T>,
): Promise<T> {
  const api = apiUrl(option);
  return withTemporaryKeys({ workspace, name, scopes: [scope] }, (newKey) =>
    work(createApiRequests({ api, newKey, onStatus: printStatus, ...access })),
  );
}
