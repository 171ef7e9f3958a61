/** How pages of other origins may use a route: calls from scripts, or images. The route itself decides what it returns. */
export type CrossOrigin = 'scripts' | 'images';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on routes that pages of any origin may call, and on their preflights. */
    crossOrigin?: CrossOrigin;
  }
}

/** The CORS headers of every response of such a route, errors included: without them the page cannot read the response. */
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
