import type { IncomingHttpHeaders } from 'node:http';
import { type Place, type RawPlace, toPlace } from './place.js';

/** Names of the headers with the parts of a place, lower case. */
export interface GeoHeaderNames {
  readonly country?: string | undefined;
  readonly region?: string | undefined;
  readonly city?: string | undefined;
  readonly continent?: string | undefined;
}

/** CDN edges with built-in header names. */
export type GeoEdge = 'vercel' | 'cloudflare' | 'cloudfront';

const EDGE_HEADERS: Readonly<Record<GeoEdge, GeoHeaderNames>> = {
  vercel: {
    country: 'x-vercel-ip-country',
    region: 'x-vercel-ip-country-region',
    city: 'x-vercel-ip-city',
    continent: 'x-vercel-ip-continent',
  },
  cloudflare: {
    country: 'cf-ipcountry',
    region: 'cf-region-code',
    city: 'cf-ipcity',
    continent: 'cf-ipcontinent',
  },
  cloudfront: {
    country: 'cloudfront-viewer-country',
    region: 'cloudfront-viewer-country-region',
    city: 'cloudfront-viewer-city',
  },
};

function headerText(headers: IncomingHttpHeaders, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
  return /^[\x00-\x7f]*$/.test(text);
}

/** City names arrive percent-encoded (Vercel, CloudFront) or as UTF-8 bytes, which Node decodes as Latin-1. */
function decodeName(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!isAscii(text)) {
    const decoded = Buffer.from(text, 'latin1').toString('utf8');
    return decoded.includes('\ufffd') ? text : decoded;
  }
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readEdge(headers: IncomingHttpHeaders, names: GeoHeaderNames): RawPlace {
  return {
    country: headerText(headers, names.country),
    region: headerText(headers, names.region),
    city: decodeName(headerText(headers, names.city)),
    continent: headerText(headers, names.continent),
  };
}

/**
 * Reads the place from the headers of the configured edge; undefined when it sent none. Call it only for requests from a trusted
 * proxy. Headers of other edges are never read: the proxy forwards them from visitors, who could forge them.
 *
 * @param configured header names that override the edge's, field by field, or describe an edge that is not built in
 */
export function createGeoHeaderReader(
  edge: GeoEdge | undefined,
  configured: GeoHeaderNames = {},
): (headers: IncomingHttpHeaders) => Place | undefined {
  const own = Object.fromEntries(Object.entries(configured).filter(([, name]) => name !== undefined)) as GeoHeaderNames;
  const names = { ...(edge === undefined ? {} : EDGE_HEADERS[edge]), ...own };
  return (headers) =>
    headerText(headers, names.country) === undefined ? undefined : toPlace(readEdge(headers, names));
}
