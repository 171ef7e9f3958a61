import type { LinkRecord } from '@waymark/catalog';
import { ISO_CODE_OF } from '@waymark/contract';
import { previewPage } from '../pages/link-pages.js';
import { EXPIRED_PAGE, PLACEHOLDER_PAGE } from '../pages/message-pages.js';
import { PASSWORD_PAGES } from '../pages/password-page.js';
import { type EntryRule, type LinkRule, NOT_FOUND, type Refusal, type VisitOutcome } from './decision.js';
import { destinationFor, type Follow } from './follow.js';
import { variantChooser } from './variants.js';

/** The rules of docs/reference/redirects.md that can apply to a link, in order. */
export interface LinkRules {
  /** Rules that can refuse a visit; without any, every visit is admitted. */
  readonly entryRules: readonly EntryRule[];
  /** Rules for the outcome of admitted visits, and the outcome when none of them applies. */
  readonly rules: readonly LinkRule[];
  readonly otherwise: VisitOutcome;
}

/** Creates a rule for a link; undefined when it can never apply to that link. */
type RuleFactory<Rule> = (link: LinkRecord) => Rule | undefined;

/** Row 4: the link has a password. */
const locked: RuleFactory<EntryRule> = (link) =>
  link.encryptedPassword === null
    ? undefined
    : ({ lock }) => (lock === 'open' ? undefined : { action: 'page', page: PASSWORD_PAGES[lock] });

/** Row 5: the link is disabled. */
const disabled: RuleFactory<EntryRule> = ({ disabledAt }) => (disabledAt === null ? undefined : () => NOT_FOUND);

/** Row 6: the link has expired. */
const expired: RuleFactory<EntryRule> = ({ expiresAt, expiredUrl }) => {
  if (expiresAt === null) return undefined;
  const expiresAtMs = Date.parse(expiresAt);
  const fallBack: Refusal = { action: 'fall-back', to: 'expiredUrl', otherwise: EXPIRED_PAGE };
  const refusal: Refusal = expiredUrl ? { ...fallBack, url: expiredUrl } : fallBack;
  return ({ nowMs }) => (expiresAtMs > nowMs ? undefined : refusal);
};

/** Row 7: the link has no destination. */
const withoutDestination: RuleFactory<LinkRule> = ({ url }) =>
  url === '' ? () => ({ action: 'show', page: PLACEHOLDER_PAGE }) : undefined;

/** Row 8: bots get a preview page. */
const previewed: RuleFactory<LinkRule> = (link) => {
  if (!link.proxy) return undefined;
  let preview: VisitOutcome | undefined;
  return ({ visit }) => {
    if (!visit.isBot) return undefined;
    preview ??= { action: 'show', page: previewPage(link) };
    return preview;
  };
};

/**
 * The destinations by the country of visits, which is a code of ISO 3166-1. A target for `UK` is for `GB`, unless the link has one for
 * that too.
 */
function countryTargets({ geo }: LinkRecord): Map<string, Follow> {
  const targets = new Map(Object.entries(geo ?? {}).map(([country, url]) => [country, destinationFor(url, false)]));
  for (const [common, iso] of ISO_CODE_OF) {
    const target = targets.get(common);
    if (target !== undefined && !targets.has(iso)) targets.set(iso, target);
  }
  return targets;
}

/** Rows 9 to 14: the destination or a variant of an A/B test; a plain redirect may be replaced by a device or country target. */
const destination: RuleFactory<LinkRule> = (link) => {
  const choose = variantChooser(link);
  const plain = destinationFor(link.url, link.rewrite);
  const ios = link.ios ? destinationFor(link.ios, false) : undefined;
  const android = link.android ? destinationFor(link.android, false) : undefined;
  const geo = countryTargets(link);
  if (choose === undefined && ios === undefined && android === undefined && geo.size === 0) return undefined;
  return (linkVisit) => {
    const own = choose?.(linkVisit) ?? plain;
    if (own.manner !== 'redirect') return own;
    const { os, country } = linkVisit.visit;
    const byDevice = os === 'iOS' ? ios : os === 'Android' ? android : undefined;
    return byDevice ?? geo.get(country) ?? own;
  };
};

const ENTRY_RULE_FACTORIES = [locked, disabled, expired];
const RULE_FACTORIES = [withoutDestination, previewed, destination];

function rulesOf<Rule>(makers: readonly RuleFactory<Rule>[], link: LinkRecord): Rule[] {
  return makers.map((make) => make(link)).filter((rule) => rule !== undefined);
}

/** The rules of a link; empty for a plain link. */
export function linkRules(link: LinkRecord): LinkRules {
  return {
    entryRules: rulesOf(ENTRY_RULE_FACTORIES, link),
    rules: rulesOf(RULE_FACTORIES, link),
    otherwise: destinationFor(link.url, link.rewrite),
  };
}
