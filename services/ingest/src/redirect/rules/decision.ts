import { SITE_FILES } from '@waymark/catalog';
import type { Visit } from '@waymark/visit';
import type { Page } from '../pages/html.js';
import { NOT_FOUND_PAGE } from '../pages/message-pages.js';
import type { LockState } from '../pages/password-page.js';
import type { Follow } from './follow.js';
import type { VariantVisit } from './variants.js';

/** The response to a visitor who is not admitted to a link (rows 1 to 6 of docs/reference/redirects.md). It never counts as a click. */
export type Refusal =
  /** Redirect to a path of the domain. */
  | { readonly action: 'send'; readonly to: string }
  /**
   * Redirect to the URL of the link, else to the one that the domain has configured for this case. The page if there is none, or if it is the
   * visited address itself.
   */
  | {
      readonly action: 'fall-back';
      readonly url?: string;
      readonly to: 'notFoundUrl' | 'expiredUrl';
      readonly otherwise: Page;
    }
  /** The file of that name from the domain. */
  | { readonly action: 'file'; readonly file: 'appleAppSiteAssociation' | 'assetLinks' }
  | { readonly action: 'page'; readonly page: Page };

/** The response to an admitted visitor (rows 7 to 14). It counts as a click unless the visitor is a bot. */
export type VisitOutcome =
  | Follow
  /** A page of the link (rows 7 and 8). */
  | { readonly action: 'show'; readonly page: Page };

/** The input of the entry rules. */
export interface EntryContext {
  readonly nowMs: number;
  /** `open` for a link without password. */
  readonly lock: LockState;
}

/** An admitted visit. */
export interface LinkVisit extends VariantVisit {
  readonly visit: Visit;
}

/** Refuses a visit, or returns undefined to continue with the next rule. */
export type EntryRule = (entry: EntryContext) => Refusal | undefined;
/** Decides the outcome of a visit, or returns undefined to continue with the next rule. */
export type LinkRule = (visit: LinkVisit) => VisitOutcome | undefined;
type PathRule = (path: string) => Refusal | undefined;

const DOMAIN_FILES: Readonly<Record<string, Refusal>> = {
  '.well-known/apple-app-site-association': { action: 'file', file: 'appleAppSiteAssociation' },
  '.well-known/assetlinks.json': { action: 'file', file: 'assetLinks' },
};

/** Row 1: files that mobile operating systems request from every domain. */
const domainFile: PathRule = (path) => (Object.hasOwn(DOMAIN_FILES, path) ? DOMAIN_FILES[path] : undefined);

/** Row 2: paths that vulnerability scanners try; links cannot have them. */
const scannedPath: PathRule = (path) => {
  const isScanned = path.startsWith('.well-known') || /\.php7?$/.test(path);
  return isScanned ? { action: 'send', to: '/?dub-no-track=1' } : undefined;
};

const NO_SUCH_FILE: Refusal = { action: 'page', page: NOT_FOUND_PAGE };

/**
 * Files that domains do not have. Not part of row 3, because search engines that `robots.txt` sends to another host apply the rules and faults
 * of that host to all links of the domain.
 */
function siteFile(key: string | undefined): Refusal | undefined {
  return key !== undefined && SITE_FILES.has(key) ? NO_SUCH_FILE : undefined;
}

/**
 * Rows 1 and 2, and files of sites: decided by the path alone.
 *
 * @param key normalised; undefined for a path that cannot be a key
 */
export function decidePath(path: string, key: string | undefined): Refusal | undefined {
  return domainFile(path) ?? scannedPath(key ?? path.toLowerCase()) ?? siteFile(key);
}

/** Rows 3 and 5: there is no such link, or it is disabled. */
export const NOT_FOUND: Refusal = { action: 'fall-back', to: 'notFoundUrl', otherwise: NOT_FOUND_PAGE };

/** Rows 4 to 6: the refusal of the first rule that applies; undefined = the visit is admitted. */
export function refusalOf(
  { entryRules }: { readonly entryRules: readonly EntryRule[] },
  entry: EntryContext,
): Refusal | undefined {
  for (const rule of entryRules) {
    const refusal = rule(entry);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Rows 7 to 14 for an admitted visit: the outcome of the first rule that applies. */
export function visitOutcome(
  { rules, otherwise }: { readonly rules: readonly LinkRule[]; readonly otherwise: VisitOutcome },
  visit: LinkVisit,
): VisitOutcome {
  for (const rule of rules) {
    const outcome = rule(visit);
    if (outcome !== undefined) return outcome;
  }
  return otherwise;
}
