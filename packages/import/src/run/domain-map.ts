import { domainName } from '@waymark/contract';
import { ImportError } from '../model/import-error.js';
import { RowError } from '../model/source-link.js';

/** Domains of providers, which all their customers share. Nobody can move them to Waymark, so their links need another domain. */
const SHARED = new Set(
  [
    'bit.ly j.mp bitly.com short.gy rebrand.ly kutt.it kutt.to s.id tinyurl.com is.gd',
    'dub.sh dub.co dub.link d.to chatg.pt spti.fi git.new cal.link amzn.id ggl.link fig.page',
  ].flatMap((domains) => domains.split(' ')),
);

/** Maps domains of the source to domains of the workspace. */
export interface DomainMap {
  /** The same for maps that map all domains in the same way. */
  readonly identity: string;
  /**
   * The domain in Waymark as the options or the source write it, in lower case: the keys of links without one are derived from it, and stay
   * the same at each import.
   *
   * @throws like `domainOf`
   */
  writtenDomainOf(sourceDomain: string | null): string | undefined;
  /**
   * The domain in Waymark, international names in punycode, as the catalog has them; undefined for a link without a domain when none was given for it.
   *
   * @throws RowError for an unmapped shared domain
   */
  domainOf(sourceDomain: string | null): string | undefined;
}

/**
 * Parses options of the form `old=new`, and at most one `new` for all other domains. Without the latter, other domains keep their name.
 *
 * @throws ImportError for an option of another form, and for two targets of one domain
 */
export function parseDomainMap(options: readonly string[]): DomainMap {
  const named = new Map<string, string>();
  let others: string | undefined;
  for (const option of options) {
    const [from = '', to, ...rest] = option.trim().toLowerCase().split('=');
    const isPair = to !== undefined;
    if (from === '' || to === '' || rest.length > 0 || (!isPair && others !== undefined)) {
      throw new ImportError(`domain "${option}" must be old=new, or one new domain for all others`);
    }
    const before = named.get(domainName(from));
    if (isPair && before !== undefined && domainName(before) !== domainName(to)) {
      throw new ImportError(`domain "${option}": the links of ${from} go to ${before} already`);
    }
    if (isPair) named.set(domainName(from), to);
    else others = from;
  }
  function writtenDomainOf(sourceDomain: string | null): string | undefined {
    const written = sourceDomain?.toLowerCase() ?? '';
    const from = written.replace(/^www\./, '');
    const to = named.get(domainName(from)) ?? named.get(domainName(written)) ?? others;
    if (to !== undefined) return to;
    if (SHARED.has(from)) throw new RowError(`links of ${from} need a domain of yours: domain ${from}=…`);
    return from || undefined;
  }

  return {
    identity: JSON.stringify([[...named].toSorted(([one], [other]) => (one < other ? -1 : 1)), others ?? null]),
    writtenDomainOf,
    domainOf(sourceDomain) {
      const written = writtenDomainOf(sourceDomain);
      return written && domainName(written);
    },
  };
}
