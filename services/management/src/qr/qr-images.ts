import { requireUrl } from '@waymark/catalog';
import type { QrQuery } from '@waymark/contract';
import type { Outbound } from '@waymark/outbound';
import { LRUCache } from 'lru-cache';
import { chooseLogo, type LogoChoice, type LogoDeps } from './logo-choice.js';
import { loadLogo } from './logo-image.js';
import { parseColor, type QrDrawing, renderQr } from './render-qr.js';
import { yieldToRequests } from './yield-to-requests.js';

const CACHE_BYTES_MAX = 32 * 1024 * 1024;
/** TTL of cached codes, because the logo at a URL may change. */
const CACHE_TTL_MS = 600_000;

export interface QrDeps extends LogoDeps {
  readonly outbound: Outbound;
}

interface QrRequest {
  readonly query: QrQuery;
  readonly url: string;
  readonly logo: LogoChoice | undefined;
}

/** Draws QR codes and caches them; concurrent requests for the same code share one drawing. */
export function createQrImages({ outbound, ...logos }: QrDeps) {
  async function draw({ query, url, logo }: QrRequest): Promise<Buffer> {
    const load = (choice: LogoChoice) =>
      loadLogo(outbound, choice.source).catch((err: unknown) => {
        if (choice.isRequested) throw err;
        return undefined;
      });
    const image = logo && (await load(logo));
    // Decoding a logo and drawing the code both block; let other requests run in between.
    if (image !== undefined) await yieldToRequests();
    const drawing: QrDrawing = {
      text: url,
      size: query.size,
      level: query.level ?? 'L',
      foreground: parseColor(query.fgColor),
      background: parseColor(query.bgColor),
      margin: query.margin,
      logo: image,
    };
    return renderQr(drawing).catch((err: unknown) => {
      if (image === undefined || logo?.isRequested === true) throw err;
      return renderQr({ ...drawing, logo: undefined });
    });
  }

  const images = new LRUCache<string, Buffer, QrRequest>({
    maxSize: CACHE_BYTES_MAX,
    sizeCalculation: (image, key) => image.length + key.length,
    ttl: CACHE_TTL_MS,
    fetchMethod: (_key, _stale, { context }) => draw(context),
  });

  return {
    /**
     * The code as PNG.
     *
     * @throws ApiError unprocessable_entity for a wrong URL, a text that is too long, or an unusable logo of the request
     */
    async image(query: QrQuery): Promise<Buffer> {
      const url = requireUrl('url', query.url);
      const logo = await chooseLogo(logos, query, url);
      const { size, level, fgColor, bgColor, margin } = query;
      const key = JSON.stringify([url, size, level, fgColor, bgColor, margin, logo]);
      return images.forceFetch(key, { context: { query, url, logo } });
    },
  };
}
