import { API_READ, type Catalog, normaliseKey } from '@waymark/catalog';
import { parseUrl, planAtLeast, type QrQuery } from '@waymark/contract';

const HTTP_URL = /^https?:\/\//i;

/** The image to draw into a QR code. */
export interface LogoChoice {
  readonly source: string;
  /** The logo comes from the request, which fails if the image cannot be used; otherwise the code is drawn without a logo. */
  readonly isRequested: boolean;
}

/** The short link at the URL, ignoring its query, and its workspace. */
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

/** The logo of a QR code; only short links of workspaces on a paid plan have one. */
export async function chooseLogo(catalog: Catalog, query: QrQuery, url: string): Promise<LogoChoice | undefined> {
  if (query.hideLogo === true) return undefined;
  const found = await findLink(catalog, url);
  if (found?.workspace === undefined || !planAtLeast(found.workspace.plan, 'pro')) return undefined;
  if (query.logo !== undefined && HTTP_URL.test(query.logo)) return { source: query.logo, isRequested: true };
  const domain = await catalog.domains.findBySlug(found.link.domain, API_READ);
  return domain?.logo ? { source: domain.logo, isRequested: false } : undefined;
}
