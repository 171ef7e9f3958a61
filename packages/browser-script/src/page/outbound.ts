import { clickId } from './attribution.js';
import { domains, hostname } from './settings.js';

const { outbound = [] } = domains;
const targets = (typeof outbound === 'string' ? outbound.split(',') : outbound).map((target) => target.trim());

function isTarget(host: string): boolean {
  return (
    host !== hostname &&
    targets.some((target) =>
      target.startsWith('*.') ? host.endsWith(target.slice(1)) : host === target.replace(/^www\./, ''),
    )
  );
}

const LINKS = 'a[href],iframe[src]';

function parsed(address: string): URL | undefined {
  try {
    return new URL(address, location.href);
  } catch {
    return undefined;
  }
}

function pass(id: string, element: Element): void {
  const name = element.localName === 'a' ? 'href' : 'src';
  const address = element.getAttribute(name) ?? '';
  const url = parsed(address);
  if (!url || !/^https?:$/.test(url.protocol) || !isTarget(url.hostname.replace(/^www\./, ''))) return;
  if (url.searchParams.get('dub_id') === id) return;
  url.searchParams.set('dub_id', id);
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
