const FROM_SCRIPTS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Authorization',
} as const;

const FROM_IMAGES = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, OPTIONS',
} as const;

/** Routes that pages of any site call (spec 1.9). What a page may do there is decided by its workspace's hostnames. */
const HEADERS = new Map<string | undefined, Readonly<Record<string, string>>>([
  ['/track/click', FROM_SCRIPTS],
  ['/track/open', FROM_SCRIPTS],
  ['/track/visit', FROM_SCRIPTS],
  ['/track/lead/client', FROM_SCRIPTS],
  ['/track/sale/client', FROM_SCRIPTS],
  ['/qr', FROM_IMAGES],
]);

/**
 * The headers that every answer of a route carries whose callers may be pages of other sites; undefined for all other routes.
 *
 * @param route its pattern
 */
export function crossOriginHeaders(route: string | undefined): Readonly<Record<string, string>> | undefined {
  return HEADERS.get(route);
}
