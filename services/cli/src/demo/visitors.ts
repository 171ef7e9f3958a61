/** A simulated visitor: user agent, address, and location as reported by a CDN edge. */
export interface Visitor {
  readonly userAgent: string;
  readonly ip: string;
  readonly country: string;
  readonly region: string;
  readonly city: string;
  readonly continent: string;
  readonly referer: string | undefined;
}

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
];

const PLACES = [
  { country: 'US', region: 'CA', city: 'San Francisco', continent: 'NA' },
  { country: 'US', region: 'NY', city: 'New York', continent: 'NA' },
  { country: 'DE', region: 'BE', city: 'Berlin', continent: 'EU' },
  { country: 'GB', region: 'ENG', city: 'London', continent: 'EU' },
  { country: 'IN', region: 'KA', city: 'Bengaluru', continent: 'AS' },
  { country: 'FR', region: 'IDF', city: 'Paris', continent: 'EU' },
  { country: 'BR', region: 'SP', city: 'São Paulo', continent: 'SA' },
  { country: 'JP', region: '13', city: 'Tokyo', continent: 'AS' },
  { country: 'AU', region: 'NSW', city: 'Sydney', continent: 'OC' },
  { country: 'ZA', region: 'WC', city: 'Cape Town', continent: 'AF' },
];

const REFERERS = [
  undefined,
  undefined,
  'https://www.google.com/',
  'https://news.ycombinator.com/item?id=1',
  'https://www.linkedin.com/feed/',
  'https://mail.example.com/inbox',
];

/** A random number below `count`, skewed towards small ones, so that few links, places and browsers get most of the traffic. */
export function skewed(count: number): number {
  return Math.floor(count * Math.random() ** 2.5);
}

function pickSkewed<T>(values: readonly [T, ...T[]] | readonly T[]): T {
  return values[skewed(values.length)] as T;
}

/** A random address from 100.64.0.0/10, which is not public. */
function address(): string {
  const part = (from: number, count: number) => from + Math.floor(Math.random() * count);
  return `100.${part(64, 64)}.${part(0, 256)}.${part(1, 254)}`;
}

/** A random visitor. */
export function newVisitor(): Visitor {
  return { userAgent: pickSkewed(BROWSERS), ip: address(), referer: pickSkewed(REFERERS), ...pickSkewed(PLACES) };
}

/** Request headers of the visitor, including those that Vercel's edge would add; they are read only with `GEO_EDGE=vercel`. */
export function visitorHeaders(visitor: Visitor): Record<string, string> {
  return {
    'user-agent': visitor.userAgent,
    accept: 'text/html,application/xhtml+xml',
    'x-forwarded-for': visitor.ip,
    'x-vercel-ip-country': visitor.country,
    'x-vercel-ip-country-region': visitor.region,
    'x-vercel-ip-city': encodeURIComponent(visitor.city),
    'x-vercel-ip-continent': visitor.continent,
    ...(visitor.referer === undefined ? {} : { referer: visitor.referer }),
  };
}
