import type { Visit } from '@waymark/visit';
import type { Page } from '../pages/html.js';
import { NOT_FOUND_PAGE } from '../pages/pages.js';
import type { LockState } from '../pages/password-page.js';
import type { Follow } from './targets.js';
import type { VariantVisit } from './variants.js';

/** What a visitor gets that is not let through to a link; never a click (rows 1 to 6 of docs/reference/redirects.md). */
export type Refusal =
  /** A fixed address. */
  | { readonly action: 'send'; readonly to: string }
  /** The address the domain has for such cases, else the page. */
  | { readonly action: 'fall-back'; readonly to: 'notFoundUrl' | 'expiredUrl'; readonly otherwise: Page }
  /** The domain's file of that name. */
  | { readonly action: 'file'; readonly file: 'appleAppSiteAssociation' | 'assetLinks' }
  | { readonly action: 'page'; readonly page: Page };

/** What a visitor gets that is let through; a click, unless it is a bot's (rows 7 to 14). */
export type Arrival =
  | Follow
  /** The link's own page (rows 7 and 8). */
  | { readonly action: 'show'; readonly page: Page };

/** What decides whether a visit is let through. */
export interface Entry {
  readonly nowMs: number;
  /** Of a link without password it is `open`. */
  readonly lock: LockState;
}

/** A visit that is let through. */
export interface LinkVisit extends VariantVisit {
  readonly visit: Visit;
}

/** Refuses a visit, or leaves it to the next rule. */
export type EntryRule = (entry: Entry) => Refusal | undefined;
/** Says where a visit leads, or leaves it to the next rule. */
export type LinkRule = (visit: LinkVisit) => Arrival | undefined;
type PathRule = (path: string) => Refusal | undefined;

const DOMAIN_FILES: Readonly<Record<string, Refusal>> = {
  '.well-known/apple-app-site-association': { action: 'file', file: 'appleAppSiteAssociation' },
  '.well-known/assetlinks.json': { action: 'file', file: 'assetLinks' },
};

/** Row 1: what app stores ask every domain for. */
const domainFile: PathRule = (path) => (Object.hasOwn(DOMAIN_FILES, path) ? DOMAIN_FILES[path] : undefined);

/** Row 2: addresses that scanners try, and no link can have. */
const scannedPath: PathRule = (path) => {
  const isScanned = path.startsWith('.well-known') || /\.php7?$/.test(path);
  return isScanned ? { action: 'send', to: '/?dub-no-track=1' } : undefined;
};

/** Rows 1 and 2: what the path alone decides. */
export function decidePath(path: string): Refusal | undefined {
  return domainFile(path) ?? scannedPath(path);
}

/** Rows 3 and 5: no link has this address. */
export const NOT_FOUND: Refusal = { action: 'fall-back', to: 'notFoundUrl', otherwise: NOT_FOUND_PAGE };

/** Rows 4 to 6: the first rule that refuses, does. Undefined = the visit is let through. */
export function refusalOf(
  { entryRules }: { readonly entryRules: readonly EntryRule[] },
  entry: Entry,
): Refusal | undefined {
  for (const rule of entryRules) {
    const refusal = rule(entry);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Rows 7 to 14, for a visit that is let through: the first rule that decides, does. */
export function arrivalOf(
  { rules, otherwise }: { readonly rules: readonly LinkRule[]; readonly otherwise: Arrival },
  visit: LinkVisit,
): Arrival {
  for (const rule of rules) {
    const arrival = rule(visit);
    if (arrival !== undefined) return arrival;
  }
  return otherwise;
}
