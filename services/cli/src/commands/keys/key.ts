import type { ApiKeyRecord, Catalog } from '@waymark/catalog';
import { ROLES } from '@waymark/contract';
import { CommandError } from '../../command-error.js';
import {
  choiceOption,
  optionalText,
  type RawOption,
  requiredText,
  scopesOption,
  timeOption,
} from '../../option-values.js';
import { type CommandResult, table } from '../../output.js';
import { withCatalog } from '../../stores.js';
import { findWorkspace } from '../workspace.js';

function describeKey({ id, workspaceId, name, partialKey, kind, role, scopes, expiresAt, createdAt }: ApiKeyRecord) {
  return { id, workspaceId, name, partialKey, kind, role, scopes, expiresAt, createdAt };
}

const scopesText = ({ scopes }: Pick<ApiKeyRecord, 'scopes'>) => scopes.join(' ') || 'all';

function expiryOption(value: RawOption): string | null {
  const time = timeOption('expires', value);
  if (time === undefined) return null;
  if (time.getTime() <= Date.now()) throw new CommandError('--expires must be in the future');
  return time.toISOString();
}

export interface CreateKeyOptions {
  readonly workspace?: RawOption;
  readonly scopes?: RawOption;
  readonly name?: RawOption;
  readonly role?: RawOption;
  readonly expires?: RawOption;
  readonly publishable?: boolean;
}

/** `waymark key create`: creates an API key and prints it, which is the only time. */
export function createKey(options: CreateKeyOptions): Promise<CommandResult> {
  const workspace = requiredText('workspace', options.workspace);
  const isPublishable = options.publishable === true;
  if (isPublishable && options.scopes !== undefined) throw new CommandError('a publishable key cannot have scopes');
  const input = {
    kind: isPublishable ? ('publishable' as const) : ('secret' as const),
    name: optionalText('name', options.name) ?? 'Command line key',
    role: choiceOption('role', options.role, ROLES, 'owner'),
    scopes: scopesOption(options.scopes),
    expiresAt: expiryOption(options.expires),
  };
  return withCatalog(async (catalog) => {
    const { id: workspaceId } = await findWorkspace(catalog, workspace);
    const { record, token } = await catalog.keys.create({ workspaceId, ...input });
    return {
      data: { key: describeKey(record), apiKey: token },
      lines: [
        `key      ${record.id}`,
        ...(isPublishable ? [] : [`scopes   ${scopesText(record)}`]),
        `API key  ${token}`,
        'Store the key now: it is not shown again.',
      ],
    };
  });
}

/** The workspaces to search for a key: the given one, or all. */
async function workspaceIds(catalog: Catalog, workspace: string | undefined): Promise<string[]> {
  if (workspace !== undefined) return [(await findWorkspace(catalog, workspace)).id];
  return (await catalog.workspaces.list()).map(({ id }) => id);
}

export interface KeyOptions {
  readonly workspace?: RawOption;
}

/** `waymark key list`: lists the API keys of one workspace or of all. */
export function listKeys(options: KeyOptions): Promise<CommandResult> {
  const workspace = optionalText('workspace', options.workspace);
  return withCatalog(async (catalog) => {
    const ids = await workspaceIds(catalog, workspace);
    const keys = (await Promise.all(ids.map((id) => catalog.keys.list(id)))).flat().map(describeKey);
    const rows = keys.map((key) => [key.id, key.workspaceId, key.kind, key.partialKey, scopesText(key), key.name]);
    return { data: { keys }, lines: table([['ID', 'WORKSPACE', 'KIND', 'KEY', 'SCOPES', 'NAME'], ...rows]) };
  });
}

/** Revokes a key by its id, or by the key itself. */
export function revokeKey(idOrToken: string, options: KeyOptions): Promise<CommandResult> {
  const workspace = optionalText('workspace', options.workspace);
  return withCatalog(async (catalog) => {
    const byToken = idOrToken.startsWith('dub_') ? (await catalog.keys.authenticate(idOrToken))?.key : undefined;
    const id = byToken?.id ?? idOrToken;
    const candidates = byToken === undefined ? await workspaceIds(catalog, workspace) : [byToken.workspaceId];
    for (const workspaceId of candidates) {
      if (!(await catalog.keys.list(workspaceId)).some((key) => key.id === id)) continue;
      await catalog.keys.revoke(workspaceId, id);
      return { data: { id, workspaceId, revoked: true }, lines: [`revoked ${id}`] };
    }
    throw new CommandError('no such key; see: waymark key list');
  });
}
