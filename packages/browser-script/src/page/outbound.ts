import { clickId } from './attribution.js';
import { domains, hostname } from './settings.js';

const WILDCARD = '*.';

function parsed(address: string): URL | undefined {
  try {
    return new URL(address, document.baseURI);
  } catch {
    return undefined;
  }
}

const withoutWww = (host: string) => host.replace(/^www\./, '');

/** The host of an entry of `outbound` as URLs have it: an entry may have upper case, other letters than those of ASCII, a scheme or a port. */
function targetHost(entry: string): string | readonly never[] {
  const text = entry.replace(/^\w+:\/\//, '');
  const isWildcard = text.startsWith(WILDCARD);
  const host = parsed(`https://${isWildcard ? text.slice(WILDCARD.length) : text}`)?.hostname;
  if (host) return isWildcard ? `.${host}` : withoutWww(host);
  console.warn(`[dubAnalytics] ${entry} in outbound is not a host`);
  return [];
}

// A list as text is its entries with commas.
const targets = String(domains.outbound ?? '')
  .split(',')
  .map((entry) => entry.trim())
  .filter(Boolean)
  .flatMap(targetHost);

function isTarget(host: string): boolean {
  return host !== hostname && targets.some((target) => (target[0] === '.' ? host.endsWith(target) : host === target));
}

const LINKS = 'a[href],iframe[src]';

function pass(id: string, element: Element): void {
  const name = element.localName === 'a' ? 'href' : 'src';
  const url = parsed(element.getAttribute(name) ?? '');
  if (!url || !/^https?:$/.test(url.protocol) || !isTarget(withoutWww(url.hostname))) return;
  // Changes the query as text: `searchParams` would rewrite all of it, so that a signature of the query would be invalid.
  const pieces = url.search ? url.search.slice(1).split('&') : [];
  // Parses the piece as the target does: the first `?` is not part of the name, a second one is.
  const isClickId = (piece: string) => new URLSearchParams(`?${piece}`).has('dub_id');
  const own = `dub_id=${id}`;
  if (pieces.find(isClickId) === own) return;
  url.search = `?${[...pieces.filter((piece) => !isClickId(piece)), own].join('&')}`;
  element.setAttribute(name, url.href);
}

function passBelow(root: Element | Document): void {
  const id = clickId();
  if (!id) return;
  if ('matches' in root && root.matches(LINKS)) pass(id, root);
  for (const element of root.querySelectorAll(LINKS)) pass(id, element);
}

let isObserving = false;

/** Adds the click id to links and frames that lead to the outbound sites in `data-domains`, also to those that are added to the page later. */
export function passClickId(): void {
  if (targets.length === 0) return;
  passBelow(document);
  if (isObserving) return;
  isObserving = true;
  new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      for (const node of type === 'attributes' ? [target] : addedNodes) if (node instanceof Element) passBelow(node);
    }
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['href', 'src'] });
}
