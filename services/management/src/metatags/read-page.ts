import { parseUrl } from '@waymark/contract';
import type { Outbound, OutboundResponse } from '@waymark/outbound';

const PAGE_MS_MAX = 3_000;
const PAGE_BYTES_MAX = 512 * 1024;
const REDIRECTS_MAX = 3;
/** Named as a bot: a short link of ours counts no click for it. */
const USER_AGENT = 'Mozilla/5.0 (compatible; WaymarkBot/1.0; link preview)';
const HTML = /^(?:text\/html|application\/xhtml\+xml)/i;
const CHARSET = /charset=["']?([\w-]{1,40})/i;
/** Where a page says its encoding, if its header does not. */
const CHARSET_BYTES = 1024;

/** A page as it was found. */
export interface Page {
  /** After redirects. */
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
 * The page at a public address, or the beginning of it. Every redirect is looked at like the first address. Undefined for
 * whatever kept it from being read: the answer must show nothing of addresses that the caller cannot reach.
 */
export async function readPage(outbound: Outbound, address: string): Promise<Page | undefined> {
  const endMs = performance.now() + PAGE_MS_MAX;
  let url = address;
  try {
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
      const timeoutMs = Math.max(1, Math.ceil(endMs - performance.now()));
      const headers = { accept: 'text/html', 'user-agent': USER_AGENT };
      const answer = await outbound.send({ method: 'GET', url, headers, timeoutMs, responseBytesMax: PAGE_BYTES_MAX });
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
    // Refused, unknown, timed out or not an address: the caller gets the same answer.
  }
  return undefined;
}
