import transliterate from '@sindresorhus/transliterate';
import {
  type Catalog,
  isReservedKey,
  linkVisibility,
  type PartnerRecord,
  prefixedKey,
  requireUrl,
} from '@waymark/catalog';
import {
  ApiError,
  type CreateLinkBody,
  type CreatePartnerLinkBody,
  fieldError,
  type Link,
  mapErrorFields,
  type PartnerLinkProps,
  parseUrl,
  randomUInt32,
} from '@waymark/contract';
import { updateIfMatching } from '../links/change/update-link.js';
import { createLink, storeNewLink } from '../links/create/create-link.js';
import { updateOrCreate } from '../links/create/update-or-create.js';
import type { LinkDeps } from '../links/link-deps.js';
import { findPartner } from './find-partner.js';
import type { PartnerCaller } from './partner-caller.js';
import { programDomain } from './program-domain.js';

/** Suffixes that are tried for a key that is taken. */
const SUFFIX_ATTEMPTS = 8;
const SUFFIX_CHARS = 4;
/** Longest key that is derived from a text. */
const DERIVED_KEY_CHARS_MAX = 100;

const bareHost = (url: string) => parseUrl(url)?.hostname.replace(/^www\./, '') ?? '';

/** Validates a destination, which must be on the program's site if it has one. @throws ApiError bad_request, 422 */
function destinationOf({ program }: PartnerCaller, requested: string): string {
  const url = requireUrl('url', requested);
  if (program.url === null) return url;
  const [host, allowed] = [bareHost(url), bareHost(program.url)];
  if (host === allowed || host.endsWith(`.${allowed}`)) return url;
  throw fieldError('invalid_value', 'url', `must be on ${allowed}, the site of the partner program`, 'bad_request');
}

/**
 * Maps a field of the link body to the field of the request that it came from.
 *
 * @param keyField the request field to report for an invalid key
 */
export function requestField(props: PartnerLinkProps | null | undefined, keyField = 'key'): (field: string) => string {
  const propNames = new Set(Object.keys(props ?? {}));
  return (field) => {
    if (field === 'key') return keyField;
    const [name = ''] = field.split(/[.[]/, 1);
    return propNames.has(name) ? `linkProps.${field}` : field;
  };
}

/** The fields that every link of a partner has: its owner, and conversion tracking switched on. */
const ownership = (partner: PartnerRecord, { program }: PartnerCaller) => ({
  partnerId: partner.id,
  programId: partner.programId ?? program.id,
  tenantId: partner.tenantId,
  trackConversion: true,
});

/** The body of a partner link. @throws ApiError bad_request without a destination, or with one on another site */
export async function linkBody(
  deps: LinkDeps,
  caller: PartnerCaller,
  fields: { readonly url?: string | null | undefined; readonly props: PartnerLinkProps | null | undefined },
): Promise<CreateLinkBody> {
  const { program } = caller;
  const domain = await programDomain(deps, caller);
  const destination = fields.url || program.url || (domain && `https://${domain}`);
  if (!destination) throw fieldError('required', 'url', 'is required: the partner program has no destination');
  const url = destinationOf(caller, destination);
  return { ...fields.props, domain, url, programId: program.id, trackConversion: true };
}

/**
 * Accents of Latin, Greek and Cyrillic letters, optional points of Hebrew and Arabic (but not the hamza), the stroke that only lengthens
 * Arabic words, marks around emoji, selectors of variants, and invisible joiners. Marks of other scripts are vowels, which belong to a name.
 */
const REMOVED_MARKS =
  /\p{Variation_Selector}|[\u0300-\u036f]|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]|[\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc]|[\u20d0-\u20ff]|[\u200c\u200d]/gu;

/** Letters of Serbian, Macedonian and Belarusian that the library does not spell. */
const CYRILLIC_LETTERS: [string, string][] = [
  ['ј', 'j'],
  ['ђ', 'dj'],
  ['ћ', 'c'],
  ['џ', 'dz'],
  ['ѓ', 'gj'],
  ['ѕ', 'dz'],
  ['ў', 'u'],
];

/** The word in Latin letters without accents or, if it has letters that cannot be spelled so, in its own script. */
function spelled(word: string): string {
  const latin = transliterate(word.toLowerCase(), { customReplacements: CYRILLIC_LETTERS }).toLowerCase();
  if (/^[a-z0-9]+$/.test(latin)) return latin;
  return word.normalize('NFKD').replace(REMOVED_MARKS, '').normalize('NFC').toLowerCase();
}

/**
 * Derives a key from a text: its words in Latin letters and digits where they can be spelled so, with everything else replaced by single
 * hyphens. Letters beyond U+FFFF are replaced too, because keys must not contain them.
 */
function keyOf(text: string): string {
  const words = text
    .normalize('NFKC')
    .replace(REMOVED_MARKS, '')
    .replace(/[\u{10000}-\u{10ffff}]/gu, ' ')
    .match(/[\p{Letter}\p{Number}][\p{Letter}\p{Mark}\p{Number}]*/gu);
  return (words ?? []).map(spelled).join('-').slice(0, DERIVED_KEY_CHARS_MAX);
}

/** The key of a partner's first link, including the prefix; undefined = a random key. */
export function firstKey(
  { username, name, email }: Pick<PartnerRecord, 'username' | 'name' | 'email'>,
  prefix: string | null | undefined,
): string | undefined {
  const [local = ''] = (email ?? '').split('@');
  const key = username || keyOf(name === email ? '' : name) || keyOf(local);
  return key ? prefixedKey(prefix, key) : undefined;
}

/** The key with a random suffix, for when the key itself is taken. */
export function suffixedKey(key: string): string {
  const suffix = (randomUInt32() % 36 ** SUFFIX_CHARS).toString(36).padStart(SUFFIX_CHARS, '0');
  return `${key}-${suffix}`;
}

/** @throws ApiError conflict when another link has the external id of the body, in which case another key would not help */
export function assertExternalIdFree(
  { catalog }: LinkDeps,
  { workspace }: PartnerCaller,
  { domain, externalId }: CreateLinkBody,
): Promise<void> {
  return catalog.links.assertFree(workspace.id, { domain: domain ?? '', externalId: externalId ?? null });
}

/**
 * Creates the partner's first link with the key or, if that is taken or reserved, with a suffix. It is not refused while 32 MB of deliveries wait,
 * because the partner is stored already.
 */
async function createFirstLink(
  deps: LinkDeps,
  caller: PartnerCaller,
  body: CreateLinkBody,
  key: string | undefined,
): Promise<void> {
  const isReserved = key !== undefined && isReservedKey(key);
  for (let tries = 0; ; tries++) {
    try {
      const needsSuffix = tries > 0 || isReserved;
      await storeNewLink(deps, caller, { ...body, key: key && needsSuffix ? suffixedKey(key) : key });
      return;
    } catch (err) {
      const isTaken = err instanceof ApiError && err.code === 'conflict';
      if (!isTaken || key === undefined || tries === SUFFIX_ATTEMPTS) throw err;
      await assertExternalIdFree(deps, caller, body);
    }
  }
}

/** Copies the tenantId of a partner to its links if it has changed since the partner was read for a new link. */
async function copyChangedTenant({ catalog }: LinkDeps, { workspaceId, id, tenantId }: PartnerRecord): Promise<void> {
  const current = (await catalog.partners.get(workspaceId, id))?.tenantId ?? tenantId;
  if (current !== null && current !== tenantId) await catalog.partners.copyTenantToLinks(workspaceId, id, current);
}

/** Whether an approved partner has no link, because it is new or its creation was interrupted. */
export async function lacksFirstLink(
  { partners }: Catalog,
  { workspaceId, id, status }: PartnerRecord,
): Promise<boolean> {
  return status === 'approved' && (await partners.links(workspaceId, id, 1)).length === 0;
}

/** How long after an enrolment a partner without a link is taken for one whose enrolment was interrupted, not for one whose links were removed. */
const ENROLMENT_MS_MAX = 24 * 3_600_000;

/** Creates the first link of an enrolled partner unless it has one. @returns whether it has done so within a day of the partner's creation */
export async function ensureFirstLink(
  deps: LinkDeps,
  caller: PartnerCaller,
  partner: PartnerRecord,
  body: CreateLinkBody,
): Promise<boolean> {
  const { catalog } = deps;
  const { workspaceId, id } = partner;
  // The lock lets only one of concurrent enrolments create the link.
  return catalog.links.underLinkLocks(workspaceId, [`first link of ${id}`], async () => {
    if (!(await lacksFirstLink(catalog, partner))) return false;
    await createFirstLink(deps, caller, { ...body, ...ownership(partner, caller) }, firstKey(partner, body.prefix));
    await copyChangedTenant(deps, partner);
    return deps.now() - Date.parse(partner.createdAt) < ENROLMENT_MS_MAX;
  });
}

/** The body of `POST /links` for a link of the partner. @throws ApiError 400 or 422 for its destination */
async function newLinkBody(
  deps: LinkDeps,
  caller: PartnerCaller,
  partner: PartnerRecord,
  { url, key, comments, linkProps }: CreatePartnerLinkBody,
): Promise<CreateLinkBody> {
  const body = await linkBody(deps, caller, { url, props: linkProps });
  return {
    ...body,
    ...ownership(partner, caller),
    ...(key ? { key } : {}),
    ...(comments === undefined ? {} : { comments }),
  };
}

/** `POST /partners/links`. @throws ApiError 400, 403, 404, 409, 422 or 429 */
export async function createPartnerLink(
  deps: LinkDeps,
  caller: PartnerCaller,
  body: CreatePartnerLinkBody,
): Promise<Link> {
  const partner = await findPartner(deps.catalog, caller.workspace.id, body);
  const newLink = await newLinkBody(deps, caller, partner, body);
  const link = await mapErrorFields(requestField(body.linkProps), () => createLink(deps, caller, newLink));
  await copyChangedTenant(deps, partner);
  return link;
}

/**
 * `PUT /partners/links/upsert`: updates the partner's link with exactly that destination, which stays on its domain, or creates one.
 *
 * @throws ApiError 400, 403, 404, 409, 422 or 429
 */
export async function upsertPartnerLink(
  deps: LinkDeps,
  caller: PartnerCaller,
  body: CreatePartnerLinkBody & { readonly url: string },
): Promise<Link> {
  const { catalog } = deps;
  const workspaceId = caller.workspace.id;
  const partner = await findPartner(catalog, workspaceId, body);
  const { domain, ...fields } = await newLinkBody(deps, caller, partner, body);
  const { url } = fields;
  const upsert = () =>
    updateOrCreate({
      find: () => catalog.partners.linkByUrl(workspaceId, partner.id, url, linkVisibility(caller.apiKey)),
      update: (found) =>
        updateIfMatching(deps, caller, found, fields, (link) => link.url === url && link.partnerId === partner.id),
      create: () => createLink(deps, caller, { ...fields, domain }),
    });
  const link = await mapErrorFields(requestField(body.linkProps), () =>
    catalog.links.underLinkLocks(workspaceId, [`${partner.id} ${url}`], upsert),
  );
  await copyChangedTenant(deps, partner);
  return link;
}
