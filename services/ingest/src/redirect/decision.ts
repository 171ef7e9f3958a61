import type { Visit } from '@waymark/visit';
import type { Page } from './html.js';
import { NOT_FOUND_PAGE } from './pages.js';
import type { LockState } from './password-page.js';
import type { Follow } from './targets.js';
import type { VariantVisit } from './variants.js';

/** What is to be done with a visit that does not go to a destination (spec 7.1). */
export type Refusal =
  /** To a fixed address; no click. */
  | { readonly action: 'send'; readonly to: string }
  /** To the address the domain has for such cases, else the page; no click. */
  | { readonly action: 'fall-back'; readonly to: 'notFoundUrl' | 'expiredUrl'; readonly otherwise: Page }
  /** The domain's file of that name; no click. */
  | { readonly action: 'file'; readonly file: 'appleAppSiteAssociation' | 'assetLinks' }
  /** `isVisit`: it came as far as the link itself (rows 7 and 8), and counts unless it is a bot's. */
  | { readonly action: 'page'; readonly page: Page; readonly isVisit: boolean };

/** What is to be done with a visit (spec 7.1). */
export type Decision = Follow | Refusal;

/** A visit to a link, as the rules see it. */
export interface LinkVisit extends VariantVisit {
  readonly visit: Visit;
  /** Worked out for links that have a password; others are `open`. */
  readonly lock: LockState;
}

export type LinkRule = (visit: LinkVisit) => Decision | undefined;
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

/** Rows 3 and 5: nobody has this address. */
export const NOT_FOUND: Refusal = { action: 'fall-back', to: 'notFoundUrl', otherwise: NOT_FOUND_PAGE };

/** Rows 4 to 14: the first rule that decides, does. */
export function decideLink(
  { rules, otherwise }: { readonly rules: readonly LinkRule[]; readonly otherwise: Decision },
  visit: LinkVisit,
): Decision {
  for (const rule of rules) {
    const decision = rule(visit);
    if (decision !== undefined) return decision;
  }
  return otherwise;
}
