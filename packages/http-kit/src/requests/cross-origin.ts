/** How pages of other origins may use a route: by scripts that call it, or as an image. */
export type CrossOrigin = 'scripts' | 'images';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on routes that pages of any origin may call, and on their preflights. */
    crossOrigin?: CrossOrigin;
  }
}

/** The CORS headers of all responses of such a route. Errors have them too, so that the page can read them. */
export const CROSS_ORIGIN_HEADERS: Readonly<Record<CrossOrigin, Readonly<Record<string, string>>>> = {
  scripts: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers': 'Content-Type, Authorization',
    // Other headers of an answer are hidden from the page.
    'access-control-expose-headers': 'Retry-After, X-Request-Id',
  },
  images: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, OPTIONS',
  },
};
