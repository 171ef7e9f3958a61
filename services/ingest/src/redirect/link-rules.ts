import type { LinkRecord } from '@waymark/catalog';
import { type Decision, type LinkRule, NOT_FOUND } from './decision.js';
import { previewPage } from './link-pages.js';
import { EXPIRED_PAGE, PLACEHOLDER_PAGE } from './pages.js';
import { passwordPage } from './password-page.js';
import { leadTo, redirectTo } from './targets.js';
import { variantChooser } from './variants.js';

/** The rules of spec 7.1 that a link has use for, in their order, and what happens when none decides. */
export interface LinkRules {
  readonly rules: readonly LinkRule[];
  readonly otherwise: Decision;
}

/** Makes a link's rule; undefined when the link has nothing that it could decide. */
type RuleMaker = (link: LinkRecord) => LinkRule | undefined;

/** Row 4. A link with a password never leads on without it. */
const locked: RuleMaker = (link) =>
  link.encryptedPassword === null
    ? undefined
    : ({ lock }) => (lock === 'open' ? undefined : { action: 'page', page: passwordPage(link, lock), isVisit: false });

/** Row 5. */
const disabled: RuleMaker = ({ disabledAt }) => (disabledAt === null ? undefined : () => NOT_FOUND);

/** Row 6. */
const expired: RuleMaker = ({ expiresAt, expiredUrl }) => {
  if (expiresAt === null) return undefined;
  const expiresAtMs = Date.parse(expiresAt);
  const decision: Decision = expiredUrl
    ? { action: 'send', to: expiredUrl }
    : { action: 'fall-back', to: 'expiredUrl', otherwise: EXPIRED_PAGE };
  return ({ nowMs }) => (expiresAtMs > nowMs ? undefined : decision);
};

/** Row 7. */
const withoutDestination: RuleMaker = ({ url }) =>
  url === '' ? () => ({ action: 'page', page: PLACEHOLDER_PAGE, isVisit: true }) : undefined;

/** Row 8. */
const previewed: RuleMaker = (link) => {
  if (!link.proxy) return undefined;
  const decision: Decision = { action: 'page', page: previewPage(link), isVisit: true };
  return ({ visit }) => (visit.isBot ? decision : undefined);
};

/** Rows 9, 10 and 14, where a test may lead to a variant, and between them 11 to 13, which lead away from a redirect only. */
const elsewhere: RuleMaker = (link) => {
  const choose = variantChooser(link);
  const plain = leadTo(link.url, link.rewrite);
  const ios = link.ios ? redirectTo(link.ios) : undefined;
  const android = link.android ? redirectTo(link.android) : undefined;
  const geo = new Map(Object.entries(link.geo ?? {}).map(([country, url]) => [country, redirectTo(url)]));
  if (choose === undefined && ios === undefined && android === undefined && geo.size === 0) return undefined;
  return (linkVisit) => {
    const own = choose?.(linkVisit) ?? plain;
    if (own.manner !== 'redirect') return own;
    const { os, country } = linkVisit.visit;
    const byDevice = os === 'iOS' ? ios : os === 'Android' ? android : undefined;
    return byDevice ?? geo.get(country) ?? own;
  };
};

const RULE_MAKERS: readonly RuleMaker[] = [locked, disabled, expired, withoutDestination, previewed, elsewhere];

/** A plain link has no rules at all. */
export function linkRules(link: LinkRecord): LinkRules {
  const rules = RULE_MAKERS.map((make) => make(link)).filter((rule) => rule !== undefined);
  return { rules, otherwise: leadTo(link.url, link.rewrite) };
}
