import { parseUrl } from '@waymark/contract';
import type { Outbound, OutboundResponse } from '@waymark/outbound';

const PAGE_MS_MAX = 3_000;
const PAGE_BYTES_MAX = 512 * 1024;
const REDIRECTS_MAX = 3;
/** Contains "Bot", so that short links of this installation do not record a click. */
const USER_AGENT = 'Mozilla/5.0 (compatible; WaymarkBot/1.0; link preview)';
const HTML = /^(?:text\/html|application\/xhtml\+xml)/i;
const CHARSET = /charset=["']?([\w-]{1,40})/i;
/** Bytes at the start of a page in which its encoding may be declared, if the header does not have it. */
const CHARSET_BYTES = 1024;

/** A fetched page. */
export interface Page {
  /** The final URL, after redirects. */
  readonly url: string;
  readonly html: string;
}

function decoded({ body, contentType = '' }: OutboundResponse): string {
  const [, label = 'utf-8'] =
    CHARSET.exec(contentType) ?? CHARSET.exec(body.toString('latin1', 0, CHARSET_BYTES)) ?? [];
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}

/**
 * Fetches a page, or its beginning, from a public URL. Every redirect target is checked like the first URL. Undefined for any failure,
 * so that the response reveals nothing about addresses that the caller cannot reach.
 */
export async function readPage(outbound: Outbound, address: string): Promise<Page | undefined> {
  const endMs = performance.now() + PAGE_MS_MAX;
  let url = address;
  try {
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
      const timeoutMs = Math.max(1, Math.ceil(endMs - performance.now()));
      const headers = { accept: 'text/html', 'user-agent': USER_AGENT };
      const bounds = { timeoutMs, responseBytesMax: PAGE_BYTES_MAX, acceptsPartialBody: true };
      const answer = await outbound.send({ method: 'GET', url, headers, ...bounds });
      if (answer.status >= 300 && answer.status < 400 && answer.location !== undefined) {
        const next = parseUrl(answer.location, url);
        if (next === undefined) return undefined;
        url = next.href;
        continue;
      }
      const isPage = answer.status === 200 && HTML.test(answer.contentType ?? '');
      return isPage ? { url, html: decoded(answer) } : undefined;
    }
  } catch {
    // All failures look the same to the caller.
  }
  return undefined;
}
