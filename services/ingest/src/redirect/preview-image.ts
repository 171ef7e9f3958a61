import { createHash } from 'node:crypto';
import { type LinkRecord, shortLinkOf } from '@waymark/catalog';
import { isNoneMatchHit, parseImageDataUrl, ROOT_KEY } from '@waymark/contract';
import type { LinkResponse } from './pages/responses.js';

// Images that are stored in links as data URLs. Robots do not accept those in previews, so the link port serves the images.

/** What the path of an image begins with, before the key. Keys do not begin with an underscore, except that of root links. */
export const IMAGE_PATH = '/_image/';

/** An image that is stored in a link. */
interface StoredImage {
  readonly contentType: string;
  /** Decoded for each request: decoded images would nearly double the memory of cached links. */
  readonly base64: string;
  /** A hash of type and content. */
  readonly tag: string;
}

type ShownLink = Pick<LinkRecord, 'domain' | 'key' | 'url' | 'image' | 'proxy' | 'rewrite' | 'encryptedPassword'>;

/** By record, so that a page with the image's URL needs no hash. `null` = none. */
const storedImages = new WeakMap<ShownLink, StoredImage | null>();

function readImage({ image }: ShownLink): StoredImage | null {
  const data = image === null ? undefined : parseImageDataUrl(image);
  if (image === null || data === undefined) return null;
  const tag = createHash('sha256').update(image).digest('base64url').slice(0, 22);
  return { ...data, tag };
}

/**
 * The stored image that pages of the link show (rows 8 and 10 of docs/reference/redirects.md); undefined for links without one. Links with
 * a password have none: robots fetch the image without the password.
 */
export function storedImage(link: ShownLink): StoredImage | undefined {
  const { proxy, rewrite, url, encryptedPassword } = link;
  if (!(proxy || rewrite) || url === '' || encryptedPassword !== null) return undefined;
  let stored = storedImages.get(link);
  if (stored === undefined) {
    stored = readImage(link);
    storedImages.set(link, stored);
  }
  return stored ?? undefined;
}

/** The URL of the link's stored image, another one for each content; undefined for links without one. */
export function previewImageUrl(link: ShownLink): string | undefined {
  const stored = storedImage(link);
  if (stored === undefined) return undefined;
  return `${shortLinkOf(link.domain, ROOT_KEY)}${IMAGE_PATH}${encodeURI(link.key)}?v=${stored.tag}`;
}

/** Short, because the image of a link that is disabled or has expired must disappear. */
const CACHE_CONTROL = 'public, max-age=3600';
/** The content comes from the link's owner: browsers must not take it for a page, or run anything in it. */
const POLICY = "default-src 'none'; sandbox";

const NOTHING = Buffer.alloc(0);

/** @param ifNoneMatch the header of that name */
export function imageResponse(
  { contentType, base64, tag }: StoredImage,
  ifNoneMatch: string | undefined,
  headers: readonly string[],
): LinkResponse {
  const etag = `"${tag}"`;
  const cached = [...headers, 'cache-control', CACHE_CONTROL, 'etag', etag];
  if (isNoneMatchHit(ifNoneMatch, [etag])) return { status: 304, headers: cached, body: NOTHING };
  return {
    status: 200,
    headers: [
      ...cached,
      'content-type',
      contentType,
      'content-security-policy',
      POLICY,
      'x-content-type-options',
      'nosniff',
      'cross-origin-resource-policy',
      'cross-origin',
    ],
    body: Buffer.from(base64, 'base64'),
  };
}
