import { qrQuerySchema } from '@waymark/contract';
import { type App, applyRateLimit, clientNetwork } from '@waymark/http-kit';
import type { RateLimiter } from '@waymark/rate-limit';
import { createQrImages, type QrDeps } from './qr-images.js';

const LIMIT = { bucket: 'qr', limit: 10, windowSeconds: 10 };
/** Browsers and CDNs may cache a code for an hour; only its logo can change. */
const CACHE_CONTROL = 'public, max-age=3600';

/** Pages of any origin may embed codes. */
const FROM_PAGES = { config: { crossOrigin: 'images' } } as const;

export interface QrRouteDeps extends QrDeps {
  readonly rateLimiter: RateLimiter;
  readonly now: () => number;
}

/** `GET /qr`: public, with a rate limit per network. */
export async function qrRoutes(app: App, deps: QrRouteDeps): Promise<void> {
  const { rateLimiter, now } = deps;
  const images = createQrImages(deps);

  app.options('/qr', { ...FROM_PAGES, schema: { hide: true } }, async (_request, reply) => reply.code(204).send());

  app.get(
    '/qr',
    {
      ...FROM_PAGES,
      onRequest: async (request, reply) => {
        await applyRateLimit(rateLimiter, clientNetwork(request), LIMIT, reply, now);
      },
      schema: {
        summary: 'Draw a QR code',
        description: 'The code as PNG. A logo is a PNG image, drawn into codes of short links of paid plans.',
        tags: ['QR codes'],
        querystring: qrQuerySchema,
        produces: ['image/png'],
      },
    },
    async ({ query }, reply) => {
      const image = await images.image(query);
      return reply.header('content-type', 'image/png').header('cache-control', CACHE_CONTROL).send(image);
    },
  );
}
