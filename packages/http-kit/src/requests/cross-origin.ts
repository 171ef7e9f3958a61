/** What pages of other sites may do on a route; what they get there is decided by its own rules. */
export type CrossOrigin = 'scripts' | 'images';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for routes that pages of any site call, and for their preflights. */
    crossOrigin?: CrossOrigin;
  }
}

/** The headers that every answer of such a route carries, refusals included: a page may not read an answer without them. */
export const CROSS_ORIGIN_HEADERS: Readonly<Record<CrossOrigin, Readonly<Record<string, string>>>> = {
  scripts: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers': 'Content-Type, Authorization',
  },
  images: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, OPTIONS',
  },
};
