import type { IncomingHttpHeaders } from 'node:http';
import { type Place, type RawPlace, toPlace } from './geo.js';

/** Names of headers, lower case, by what they say. */
export interface GeoHeaderNames {
  readonly country?: string | undefined;
  readonly region?: string | undefined;
  readonly city?: string | undefined;
  readonly continent?: string | undefined;
}

/** Edges known by name. The country header tells which one is in front. */
const KNOWN_EDGES: readonly GeoHeaderNames[] = [
  {
    country: 'x-vercel-ip-country',
    region: 'x-vercel-ip-country-region',
    city: 'x-vercel-ip-city',
    continent: 'x-vercel-ip-continent',
  },
  { country: 'cf-ipcountry', region: 'cf-region-code', city: 'cf-ipcity', continent: 'cf-ipcontinent' },
  {
    country: 'cloudfront-viewer-country',
    region: 'cloudfront-viewer-country-region',
    city: 'cloudfront-viewer-city',
  },
];

function headerText(headers: IncomingHttpHeaders, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
  return /^[\x00-\x7f]*$/.test(text);
}

/** City names travel percent-encoded (Vercel, CloudFront) or as UTF-8 bytes, which Node hands over as Latin-1. */
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
 * Reads the place from the headers of the edge in front, undefined when it sent none. The caller has made sure that they come
 * from a trusted proxy. A configured name replaces the known ones for its field: the operator knows which edge is in front,
 * and another edge's header would then be the visitor's own invention.
 */
export function createGeoHeaderReader(
  configured: GeoHeaderNames = {},
): (headers: IncomingHttpHeaders) => Place | undefined {
  const own = Object.fromEntries(Object.entries(configured).filter(([, name]) => name !== undefined)) as GeoHeaderNames;
  const edges = KNOWN_EDGES.map((edge) => ({ ...edge, ...own }));
  return (headers) => {
    for (const edge of edges) {
      if (headerText(headers, edge.country) !== undefined) return toPlace(readEdge(headers, edge));
    }
    return undefined;
  };
}
