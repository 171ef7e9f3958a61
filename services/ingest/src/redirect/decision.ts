import type { LinkRecord } from '@waymark/catalog';
import type { Visit } from '@waymark/visit';
import { EXPIRED_PAGE, NOT_FOUND_PAGE, PASSWORD_PAGE, type Page, PLACEHOLDER_PAGE } from './pages.js';

/** What is to be done with a visit (spec 7.1). */
export type Decision =
  /** To the destination, with the visit's parameters; a click. */
  | { readonly action: 'follow'; readonly target: string }
  /** To a fixed address; no click. */
  | { readonly action: 'send'; readonly to: string }
  /** To the address the domain has for such cases, else the page; no click. */
  | { readonly action: 'fall-back'; readonly to: 'notFoundUrl' | 'expiredUrl'; readonly otherwise: Page }
  /** The domain's file of that name; no click. */
  | { readonly action: 'file'; readonly file: 'appleAppSiteAssociation' | 'assetLinks' }
  | { readonly action: 'page'; readonly page: Page; readonly isClick: boolean };

/** A visit to a link, as the rules see it. */
export interface LinkVisit {
  readonly link: LinkRecord;
  readonly visit: Visit;
  readonly parameters: URLSearchParams;
  readonly nowMs: number;
  /** Whether the visit brought the link's password. Asked only of links that have one. */
  readonly isPasswordRight: boolean;
}

type PathRule = (path: string) => Decision | undefined;
type LinkRule = (visit: LinkVisit) => Decision | undefined;

const NOT_FOUND: Decision = { action: 'fall-back', to: 'notFoundUrl', otherwise: NOT_FOUND_PAGE };

const DOMAIN_FILES: Readonly<Record<string, Decision>> = {
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

/** Row 4. A link with a password never leads on without it. */
const locked: LinkRule = ({ link, isPasswordRight }) =>
  link.encryptedPassword !== null && !isPasswordRight
    ? { action: 'page', page: PASSWORD_PAGE, isClick: false }
    : undefined;

/** Row 5. */
const disabled: LinkRule = ({ link }) => (link.disabledAt === null ? undefined : NOT_FOUND);

/** Row 6. */
const expired: LinkRule = ({ link, nowMs }) => {
  if (link.expiresAt === null || Date.parse(link.expiresAt) > nowMs) return undefined;
  if (link.expiredUrl !== null && link.expiredUrl !== '') return { action: 'send', to: link.expiredUrl };
  return { action: 'fall-back', to: 'expiredUrl', otherwise: EXPIRED_PAGE };
};

/** Row 7. */
const withoutDestination: LinkRule = ({ link }) =>
  link.url === '' ? { action: 'page', page: PLACEHOLDER_PAGE, isClick: true } : undefined;

const PATH_RULES: readonly PathRule[] = [domainFile, scannedPath];
/** In the order of spec 7.1; the first that decides, does. */
const LINK_RULES: readonly LinkRule[] = [locked, disabled, expired, withoutDestination];

function firstOf<Subject>(
  rules: readonly ((subject: Subject) => Decision | undefined)[],
  subject: Subject,
): Decision | undefined {
  for (const rule of rules) {
    const decision = rule(subject);
    if (decision !== undefined) return decision;
  }
  return undefined;
}

/** Rows 1 and 2: what the path alone decides. */
export function decidePath(path: string): Decision | undefined {
  return firstOf(PATH_RULES, path);
}

/** Row 3: nobody has this address. */
export const DECISION_WITHOUT_LINK = NOT_FOUND;

/** Rows 4 to 14. */
export function decideLink(visit: LinkVisit): Decision {
  return firstOf(LINK_RULES, visit) ?? { action: 'follow', target: visit.link.url };
}
