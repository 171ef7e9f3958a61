import type { Catalog, WorkspacePatch, WorkspaceRecord } from '@waymark/catalog';
import { API_READ, DEFAULT_PLAN, DEFAULT_QUOTAS, workspaceLimits } from '@waymark/catalog';
import { EVENT_RETENTION_DAYS_MIN, PRIVACY_SIGNALS } from '@waymark/contract';
import { CommandError } from '../command-error.js';
import {
  applyQuotas,
  choiceOption,
  domainOption,
  limitOption,
  numberOption,
  optionalText,
  planOption,
  type RawOption,
  requiredText,
  retentionOption,
  textList,
  urlOption,
} from '../option-values.js';
import { type CommandResult, table } from '../output.js';
import { findTarget, withCatalog } from '../stores.js';

/** Finds a workspace by id or slug. @throws CommandError when there is none */
export async function findWorkspace(catalog: Catalog, idOrSlug: string): Promise<WorkspaceRecord> {
  const found =
    (await catalog.workspaces.findBySlug(idOrSlug)) ??
    (idOrSlug.startsWith('ws_') ? await catalog.workspaces.get(idOrSlug) : undefined);
  if (found === undefined) throw new CommandError(`there is no workspace "${idOrSlug}"; see: waymark workspace list`);
  return found;
}

/** The fields of a workspace that are printed, with its effective limits. */
function describeWorkspace(workspace: WorkspaceRecord) {
  const { id, name, slug, plan, allowedHostnames, queueShard = 0, createdAt, updatedAt } = workspace;
  const { eventRetentionDays = null, addressRetentionDays = null, privacySignal = 'ignore' } = workspace;
  const fields = { id, name, slug, plan, allowedHostnames, queueShard, ...workspaceLimits(workspace) };
  return { ...fields, eventRetentionDays, addressRetentionDays, privacySignal, createdAt, updatedAt };
}

export interface CreateOptions {
  readonly name?: RawOption;
  readonly slug?: RawOption;
  readonly plan?: RawOption;
  readonly domain?: RawOption;
  readonly programUrl?: RawOption;
  readonly quotas?: RawOption;
  readonly queueShard?: RawOption;
}

const QUEUE_SHARDS = { min: 0, max: 99, isWhole: true, what: 'the number of a queue shard' };

/** `waymark workspace create`: creates a workspace with its first keys, and its domain if one is given. */
export function createWorkspace(options: CreateOptions): Promise<CommandResult> {
  const slug = requiredText('slug', options.slug).toLowerCase();
  const name = optionalText('name', options.name) ?? slug;
  const named = planOption(options.plan);
  const plan = named ?? DEFAULT_PLAN;
  const standard = named === undefined ? DEFAULT_QUOTAS : {};
  const quotas = applyQuotas(options.quotas, standard) ?? standard;
  const domain = domainOption('domain', options.domain);
  const programUrl = urlOption('program-url', options.programUrl);
  const queueShard =
    options.queueShard === undefined ? undefined : numberOption('queue-shard', options.queueShard, QUEUE_SHARDS);
  return withCatalog(async ({ workspaces, domains }) => {
    const optional = {
      ...(domain === undefined ? {} : { domain }),
      ...(programUrl ? { programUrl } : {}),
      ...(queueShard === undefined ? {} : { queueShard }),
    };
    const created = await workspaces.create({ name, slug, plan, quotas, ...optional });
    const [apiKey, publishableKey] = [created.apiKey.token, created.publishableKey.token];
    return {
      data: {
        workspace: describeWorkspace(created.workspace),
        domain: created.domain === undefined ? null : domains.toDomain(created.domain),
        apiKey,
        publishableKey,
      },
      lines: [
        `workspace        ${created.workspace.id} (${slug}, ${plan})`,
        `domain           ${created.domain?.slug ?? 'none'}`,
        `API key          ${apiKey}`,
        `publishable key  ${publishableKey}`,
        'Store the keys now: they are not shown again.',
      ],
    };
  });
}

/** Fields of a workspace's partner program that an operator can change. */
interface ProgramPatch {
  /** Default destination of partner links, and the only site they may lead to; null = any site. */
  readonly url?: string | null;
  /** Host of the domain of new partner links; null = the primary domain at the next link. */
  readonly domain?: string | null;
  /** Folder of partner links that are created without one. */
  readonly defaultFolderId?: string | null;
}

/** The id of a domain for new partner links. @throws CommandError for a domain that is archived, or of no or another workspace */
async function servedDomain({ domains }: Catalog, { id, slug: workspace }: WorkspaceRecord, slug: string) {
  const domain = await domains.findBySlug(slug, API_READ);
  if (domain?.workspaceId !== id) throw new CommandError(`the workspace "${workspace}" has no domain "${slug}"`);
  if (domain.archived) throw new CommandError(`the domain "${slug}" is archived: its links do not redirect`);
  return domain.id;
}

async function updateProgram(
  catalog: Catalog,
  workspace: WorkspaceRecord,
  { domain, ...patch }: ProgramPatch,
): Promise<void> {
  const { id } = workspace;
  if (patch.defaultFolderId) await catalog.folders.require(id, patch.defaultFolderId);
  const domainId = domain ? await servedDomain(catalog, workspace, domain) : domain;
  const { defaultProgramId } = await catalog.workspaces.withProgram(id);
  const fields = { ...patch, ...(domainId === undefined ? {} : { domainId }) };
  if (defaultProgramId !== null) await catalog.programs.update(id, defaultProgramId, () => fields);
}

export interface UpdateOptions {
  readonly workspace?: RawOption;
  readonly name?: RawOption;
  readonly slug?: RawOption;
  readonly plan?: RawOption;
  readonly programUrl?: RawOption;
  readonly programDomain?: RawOption;
  readonly programFolder?: RawOption;
  readonly allowedHostnames?: RawOption;
  readonly requestsPerMinute?: RawOption;
  readonly analyticsPerSecond?: RawOption;
  readonly quotas?: RawOption;
  readonly eventRetentionDays?: RawOption;
  readonly addressRetentionDays?: RawOption;
  readonly privacySignal?: RawOption;
}

/** The hosts of an option in lower case; an empty text allows every host. @throws CommandError for a list without hosts, such as a comma */
function hostnamesOption(value: RawOption): string[] | undefined {
  if (value === '') return [];
  return textList('allowed-hostnames', value)?.map((host) => host.toLowerCase());
}

function workspacePatch(options: UpdateOptions, current: WorkspaceRecord): WorkspacePatch {
  const { eventRetentionDays: eventDays, addressRetentionDays: addressDays } = findTarget().settings;
  const events = ['event-retention-days', options.eventRetentionDays, EVENT_RETENTION_DAYS_MIN, eventDays] as const;
  const patch = {
    name: optionalText('name', options.name),
    slug: optionalText('slug', options.slug)?.toLowerCase(),
    plan: planOption(options.plan),
    allowedHostnames: hostnamesOption(options.allowedHostnames),
    requestsPerMinute: limitOption('requests-per-minute', options.requestsPerMinute, 1),
    analyticsPerSecond: limitOption('analytics-per-second', options.analyticsPerSecond, 0),
    quotas: applyQuotas(options.quotas, current.quotas),
    eventRetentionDays: retentionOption(...events),
    addressRetentionDays: retentionOption('address-retention-days', options.addressRetentionDays, 1, addressDays),
    privacySignal: choiceOption('privacy-signal', options.privacySignal, PRIVACY_SIGNALS, undefined),
  };
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
}

function programPatch(options: UpdateOptions): ProgramPatch {
  const url = urlOption('program-url', options.programUrl);
  const domain = options.programDomain === '' ? '' : domainOption('program-domain', options.programDomain);
  const folder = options.programFolder === '' ? '' : optionalText('program-folder', options.programFolder);
  return {
    ...(url === undefined ? {} : { url: url || null }),
    ...(domain === undefined ? {} : { domain: domain || null }),
    ...(folder === undefined ? {} : { defaultFolderId: folder || null }),
  };
}

/** `waymark workspace update`: changes the given fields of a workspace. */
export function updateWorkspace(idOrSlug: string | undefined, options: UpdateOptions): Promise<CommandResult> {
  const requested = idOrSlug ?? requiredText('workspace', options.workspace);
  return withCatalog(async (catalog) => {
    const current = await findWorkspace(catalog, requested);
    const programChanges = programPatch(options);
    const isProgramChanged = Object.keys(programChanges).length > 0;
    if (Object.keys(workspacePatch(options, current)).length === 0 && !isProgramChanged) {
      throw new CommandError('nothing to change; see: waymark workspace update --help');
    }
    if (isProgramChanged) await updateProgram(catalog, current, programChanges);
    const workspace = describeWorkspace(
      await catalog.workspaces.update(current.id, (stored) => workspacePatch(options, stored)),
    );
    return {
      data: { workspace },
      lines: Object.entries(workspace).map(([field, value]) => `${field}: ${JSON.stringify(value)}`),
    };
  });
}

/** `waymark workspace list`: lists all workspaces. */
export function listWorkspaces(): Promise<CommandResult> {
  return withCatalog(async (catalog) => {
    const workspaces = (await catalog.workspaces.list()).map(describeWorkspace);
    const rows = workspaces.map(({ id, slug, plan, name }) => [id, slug, plan, name]);
    return { data: { workspaces }, lines: table([['ID', 'SLUG', 'PLAN', 'NAME'], ...rows]) };
  });
}
