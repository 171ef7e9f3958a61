import { createHash } from 'node:crypto';
import { checkKey, type LinkBaseline, normaliseKey, normaliseUrl, storedKey } from '@waymark/catalog';
import {
  type CreateLinkBody,
  createLinkBodySchema,
  DESCRIPTION_CHARS_MAX,
  type ImportSource,
  ROOT_KEY,
  TITLE_CHARS_MAX,
  type UpdateLinkBody,
} from '@waymark/contract';
import { checkUtmValues } from '@waymark/link-rules';
import { isRefusedRecord } from '../model/record-errors.js';
import type { Clearable, Lost, SourceLink } from '../model/source-link.js';
import { CLEARABLE_FLAGS, RowError } from '../model/source-link.js';
import type { DomainMap } from './domain-map.js';
import type { ReferencedResources } from './referenced-resources.js';

const MADE_KEY_CHARS = 10;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A link to create or to update, with ids in place of the names of tags and folder. */
export interface LinkPlan {
  readonly row: number;
  readonly record: unknown;
  readonly domain: string;
  readonly key: string;
  readonly body: CreateLinkBody;
  /** What an update takes from the link besides, because the source has no value for it. */
  readonly cleared: UpdateLinkBody;
  /** The names of the tags and the folder of the body, by their ids. */
  readonly names: ReadonlyMap<string, string>;
  /** Whether `externalId` is the id at the source. It is left out if another link has it. */
  readonly hasSourceId: boolean;
  readonly createdAt: string | undefined;
  readonly baseline: LinkBaseline | undefined;
  /** Lost values of this link besides those of its record. The writer adds the values that the rules for links refuse. */
  readonly lost: Lost[];
}

export interface PlanOptions {
  readonly source: ImportSource;
  readonly domains: DomainMap;
  /** The domain of links without a domain. */
  readonly fallbackDomain: string | undefined;
  /** Names of tags that all links get. */
  readonly tags: readonly string[];
  readonly history: 'none' | 'counts' | 'events';
  readonly resources: ReferencedResources;
  /** Time of the import, ISO 8601. */
  readonly importedAt: string;
}

/** Derives a key for a link without one from its domain and destination, so that a second import finds the link. */
export function madeKey(domain: string, url: string): string {
  const bytes = createHash('sha256').update(`${domain}\n${url}`).digest();
  return [...bytes.subarray(0, MADE_KEY_CHARS)].map((byte) => LETTERS[byte % LETTERS.length]).join('');
}

function shortenings({ title, description }: SourceLink['fields']): Lost[] {
  const lost: Lost[] = [];
  const check = (field: string, value: string | null | undefined, charsMax: number) => {
    if (value && value.length > charsMax) lost.push({ field, value, reason: `is shortened to ${charsMax} characters` });
  };
  check('title', title, TITLE_CHARS_MAX);
  check('description', description, DESCRIPTION_CHARS_MAX);
  return lost;
}

/** The number of tags that a link may have. */
const TAGS_MAX = 1000;

/** Runs `find` for a value that a link does not need. If it is refused, the value is added to `lost` with the reason. */
async function orLost<T>(lost: Lost[], field: string, value: string, find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (err) {
    if (!isRefusedRecord(err)) throw err;
    lost.push({ field, value, reason: err.message });
    return undefined;
  }
}

function withoutNulls<T extends object>(fields: T): Partial<T> {
  const isSet = ([, value]: [string, unknown]) => value !== null && value !== undefined && value !== false;
  return Object.fromEntries(Object.entries(fields).filter(isSet)) as Partial<T>;
}

/** The body that clears the fields. The times of an A/B test go with its variants. @param tagCount number of tags that the link gets all the same */
function clearingOf(cleared: readonly Clearable[], tagCount: number): UpdateLinkBody {
  const fields = cleared.filter((name) => name !== 'tags' && name !== 'folder');
  return {
    ...Object.fromEntries(fields.map((name) => [name, CLEARABLE_FLAGS.has(name) ? false : null])),
    ...(cleared.includes('testVariants') && { testStartedAt: null, testCompletedAt: null }),
    ...(cleared.includes('tags') && tagCount === 0 && { tagIds: [] }),
    ...(cleared.includes('folder') && { folderId: null }),
  };
}

/** Checks the types and lengths of the body, as a request with it would be. @throws RowError */
function checkedBody(body: unknown): CreateLinkBody {
  const parsed = createLinkBodySchema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new RowError(`${issue?.path.join('.') ?? 'link'}: ${issue?.message ?? 'is invalid'}`);
}

/**
 * Plans a link of the source. Creates its domain, tags and folder if they do not exist, after it has checked everything else.
 *
 * @throws RowError or ApiError when the link cannot be created
 */
export async function planLink(
  { row, record, link }: { readonly row: number; readonly record: unknown; readonly link: SourceLink },
  options: PlanOptions,
): Promise<LinkPlan> {
  const { resources, history, source, importedAt, domains, fallbackDomain } = options;
  const domain = domains.domainOf(link.domain) ?? fallbackDomain;
  if (domain === undefined) throw new RowError('the link has no domain: name one with the option domain');
  const made = () => madeKey(domains.writtenDomainOf(link.domain) ?? domain, link.fields.url);
  const key = link.key === '' ? ROOT_KEY : (link.key ?? made());
  checkKey(key);
  const { externalId, ...fields } = link.fields;
  const body = checkedBody({
    ...withoutNulls(fields),
    ...withoutNulls({ externalId: externalId || link.sourceId }),
    url: fields.url,
    domain,
    key,
  });
  checkUtmValues(normaliseUrl(body.url) ?? '', body);
  const tags = [...options.tags.map((name) => ({ name })), ...link.tags];
  if (tags.length > TAGS_MAX) throw new RowError(`tags: more than ${TAGS_MAX}`);
  await resources.domain(domain);
  const lost = shortenings(link.fields);
  const names = new Map<string, string>();
  for (const tag of tags) {
    const id = await orLost(lost, 'tags', tag.name, async () => resources.tag(tag));
    if (id !== undefined && !names.has(id)) names.set(id, tag.name);
  }
  const tagIds = [...names.keys()];
  const { folder, counts } = link;
  const folderId =
    folder === null ? undefined : await orLost(lost, 'folder', folder, async () => resources.folder(folder));
  if (folderId !== undefined) names.set(folderId, folder ?? '');
  const hasSourceId = !externalId && link.sourceId !== null;
  return {
    row,
    record,
    domain,
    key: storedKey(key),
    hasSourceId,
    names,
    lost,
    body: { ...body, ...(folderId !== undefined && { folderId }), ...(tagIds.length > 0 && { tagIds }) },
    cleared: clearingOf(link.cleared ?? [], tags.length),
    createdAt: link.createdAt ?? undefined,
    baseline: history === 'counts' && counts !== null ? { source, importedAt, ...counts } : undefined,
  };
}

/** The address of a link in normal form: two links with the same one are the same link. */
export function addressKey({ domain, key }: Pick<LinkPlan, 'domain' | 'key'>): string {
  return `${domain}/${normaliseKey(key)}`;
}
