import { API_READ, type Catalog, normaliseKey } from '@waymark/catalog';
import { parseUrl, planAtLeast, type QrQuery } from '@waymark/contract';

const HTTP_URL = /^https?:\/\//i;

/** Which image goes into a code. */
export interface LogoChoice {
  readonly source: string;
  /** The caller named it: the request is refused when it cannot be used. */
  readonly isAsked: boolean;
}

/** Plan and domain of the short link that the URL, its query apart, is the address of. */
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

/** The logo of a code: none but for short links of workspaces on a paid plan. */
export async function chooseLogo(catalog: Catalog, query: QrQuery, url: string): Promise<LogoChoice | undefined> {
  if (query.hideLogo === true) return undefined;
  const found = await findLink(catalog, url);
  if (found?.workspace === undefined || !planAtLeast(found.workspace.plan, 'pro')) return undefined;
  if (query.logo !== undefined && HTTP_URL.test(query.logo)) return { source: query.logo, isAsked: true };
  const domain = await catalog.domains.findBySlug(found.link.domain, API_READ);
  return domain?.logo ? { source: domain.logo, isAsked: false } : undefined;
}
