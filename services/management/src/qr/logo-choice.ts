import { API_READ, type Catalog, isDomainServed, normaliseKey } from '@waymark/catalog';
import { parseUrl, planAtLeast, type QrQuery } from '@waymark/contract';
import { isInterruption } from '@waymark/jobs';

const HTTP_URL = /^https?:\/\//i;

/** The image to draw into a QR code. */
export interface LogoChoice {
  /** An http(s) URL or a `data:` URL. */
  readonly source: string;
  /** Whether the request names the logo: then it fails if the image cannot be used. A logo of the domain is left out instead. */
  readonly isRequested: boolean;
}

/** Where links and their domains are looked up. */
export interface LogoDeps {
  readonly catalog: Catalog;
  /** The domain that all workspaces share, so that none of them can archive it. */
  readonly defaultDomain: string | undefined;
}

/** The short link at a URL, whose query is ignored, its workspace and its domain; undefined when a visit would find no link. */
async function findLink({ catalog, defaultDomain }: LogoDeps, url: string) {
  const parsed = parseUrl(url);
  if (parsed === undefined) return undefined;
  const { protocol, host, pathname } = parsed;
  if (!/^https?:$/.test(protocol)) return undefined;
  let key: string;
  try {
    key = decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
  const link = await catalog.links.findByAddress(host.replace(/^www\./, ''), normaliseKey(key), API_READ);
  if (link === undefined) return undefined;
  const [workspace, domain] = await Promise.all([
    catalog.workspaces.get(link.workspaceId),
    catalog.domains.findBySlug(link.domain, API_READ),
  ]);
  // A visit would be answered as if the link did not exist.
  if (link.disabledAt !== null || !isDomainServed(link.domain, domain, defaultDomain)) return undefined;
  return { workspace, domain };
}

/**
 * Chooses the logo of a QR code. Undefined for URLs that are not short links, for links that are out of service, so that the answer does not
 * reveal whether such a link exists, for the free plan, with `hideLogo`, and without `logo` while the link cannot be looked up.
 */
export async function chooseLogo(deps: LogoDeps, query: QrQuery, url: string): Promise<LogoChoice | undefined> {
  if (query.hideLogo === true) return undefined;
  const found = await findLink(deps, url).catch((err: unknown) => {
    if (query.logo === undefined && isInterruption(err)) return undefined;
    throw err;
  });
  if (found?.workspace === undefined || !planAtLeast(found.workspace.plan, 'pro')) return undefined;
  if (query.logo !== undefined && HTTP_URL.test(query.logo)) return { source: query.logo, isRequested: true };
  const logo = found.domain?.logo;
  return logo ? { source: logo, isRequested: false } : undefined;
}
