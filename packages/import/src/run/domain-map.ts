import { ImportError } from '../model/import-error.js';

/** Domains that many people share: nobody can bring them here, so their links need another one. */
const SHARED = new Set(
  'bit.ly j.mp bitly.com dub.sh dub.co short.gy rebrand.ly kutt.it kutt.to s.id tinyurl.com is.gd'.split(' '),
);

/** Where the links of each domain of the source go. */
export interface DomainMap {
  /** The domain here; undefined for links without a domain when no domain was named for them. @throws ImportError for shared domains */
  domainOf(sourceDomain: string | null): string | undefined;
}

/**
 * Reads `old=new` pairs, and `new` alone for all links that no pair names. Domains that nothing names keep their name.
 *
 * @throws ImportError
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
    const before = named.get(from);
    if (isPair && before !== undefined && before !== to) {
      throw new ImportError(`domain "${option}": the links of ${from} go to ${before} already`);
    }
    if (isPair) named.set(from, to);
    else others = from;
  }
  return {
    domainOf(sourceDomain) {
      const from = sourceDomain?.toLowerCase().replace(/^www\./, '') ?? '';
      const to = named.get(from) ?? named.get(sourceDomain?.toLowerCase() ?? '') ?? others;
      if (to !== undefined) return to;
      if (SHARED.has(from)) throw new ImportError(`links of ${from} need a domain of yours: domain ${from}=…`);
      return from || undefined;
    },
  };
}
