import { API_READ, type Catalog, normaliseKey } from '@waymark/catalog';
import { parseUrl, planAtLeast, type QrQuery } from '@waymark/contract';

const HTTP_URL = /^https?:\/\//i;

/** The image to draw into a QR code. */
export interface LogoChoice {
  /** An http(s) URL or a `data:` URL. */
  readonly source: string;
  /** Whether the request names the logo: then it fails if the image cannot be used. A logo of the domain is left out instead. */
  readonly isRequested: boolean;
}

/** The short link at a URL, whose query is ignored, and its workspace; undefined when there is no such link. */
async function findLink(catalog: Catalog, url: string) {
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
  return link && { link, workspace: await catalog.workspaces.get(link.workspaceId) };
}

/** Chooses the logo of a QR code. Undefined for URLs that are not short links, for the free plan, and with `hideLogo`. */
export async function chooseLogo(catalog: Catalog, query: QrQuery, url: string): Promise<LogoChoice | undefined> {
  if (query.hideLogo === true) return undefined;
  const found = await findLink(catalog, url);
  if (found?.workspace === undefined || !planAtLeast(found.workspace.plan, 'pro')) return undefined;
  if (query.logo !== undefined && HTTP_URL.test(query.logo)) return { source: query.logo, isRequested: true };
  const domain = await catalog.domains.findBySlug(found.link.domain, API_READ);
  return domain?.logo ? { source: domain.logo, isRequested: false } : undefined;
}
