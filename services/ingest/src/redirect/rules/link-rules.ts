import type { LinkRecord } from '@waymark/catalog';
import { previewPage } from '../pages/link-pages.js';
import { EXPIRED_PAGE, PLACEHOLDER_PAGE } from '../pages/pages.js';
import { PASSWORD_PAGES } from '../pages/password-page.js';
import { type Arrival, type EntryRule, type LinkRule, NOT_FOUND, type Refusal } from './decision.js';
import { leadTo, redirectTo } from './targets.js';
import { variantChooser } from './variants.js';

/** The rules of docs/reference/redirects.md that a link has use for, in their order. */
export interface LinkRules {
  /** Who is let through; everybody when there are none. */
  readonly entryRules: readonly EntryRule[];
  /** Where those lead who are let through, and what happens when none decides. */
  readonly rules: readonly LinkRule[];
  readonly otherwise: Arrival;
}

/** Makes a link's rule; undefined when the link has nothing that it could decide. */
type RuleMaker<Rule> = (link: LinkRecord) => Rule | undefined;

/** Row 4. A link with a password never leads on without it. */
const locked: RuleMaker<EntryRule> = (link) =>
  link.encryptedPassword === null
    ? undefined
    : ({ lock }) => (lock === 'open' ? undefined : { action: 'page', page: PASSWORD_PAGES[lock] });

/** Row 5. */
const disabled: RuleMaker<EntryRule> = ({ disabledAt }) => (disabledAt === null ? undefined : () => NOT_FOUND);

/** Row 6. */
const expired: RuleMaker<EntryRule> = ({ expiresAt, expiredUrl }) => {
  if (expiresAt === null) return undefined;
  const expiresAtMs = Date.parse(expiresAt);
  const refusal: Refusal = expiredUrl
    ? { action: 'send', to: expiredUrl }
    : { action: 'fall-back', to: 'expiredUrl', otherwise: EXPIRED_PAGE };
  return ({ nowMs }) => (expiresAtMs > nowMs ? undefined : refusal);
};

/** Row 7. */
const withoutDestination: RuleMaker<LinkRule> = ({ url }) =>
  url === '' ? () => ({ action: 'show', page: PLACEHOLDER_PAGE }) : undefined;

/** Row 8. */
const previewed: RuleMaker<LinkRule> = (link) => {
  if (!link.proxy) return undefined;
  const preview: Arrival = { action: 'show', page: previewPage(link) };
  return ({ visit }) => (visit.isBot ? preview : undefined);
};

/** Rows 9, 10 and 14, where a test may lead to a variant, and between them 11 to 13, which lead away from a redirect only. */
const elsewhere: RuleMaker<LinkRule> = (link) => {
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

const ENTRY_RULE_MAKERS = [locked, disabled, expired];
const RULE_MAKERS = [withoutDestination, previewed, elsewhere];

function rulesOf<Rule>(makers: readonly RuleMaker<Rule>[], link: LinkRecord): Rule[] {
  return makers.map((make) => make(link)).filter((rule) => rule !== undefined);
}

/** A plain link has no rules at all. */
export function linkRules(link: LinkRecord): LinkRules {
  return {
    entryRules: rulesOf(ENTRY_RULE_MAKERS, link),
    rules: rulesOf(RULE_MAKERS, link),
    otherwise: leadTo(link.url, link.rewrite),
  };
}
