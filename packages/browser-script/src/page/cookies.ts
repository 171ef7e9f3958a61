/** The object in `data-cookie-options`. It comes from JSON, so `expires` is a date as text. */
export interface CookieOptions {
  readonly domain?: string;
  readonly path?: string;
  readonly expires?: string;
  readonly expiresInDays?: number;
  readonly maxAge?: number;
  readonly sameSite?: string | boolean;
  readonly secure?: boolean;
}

const DAY_MS = 86_400_000;
const DAYS = 90;

/** The cookies of the page. */
export interface Cookies {
  read(name: string): string | undefined;
  write(name: string, value: string): void;
}

/** Browsers reject the `Domain` of an address or of a name without a dot, such as `localhost`. */
function ownDomain(hostname: string): string | undefined {
  return /\.[a-z][^.:]*$/i.test(hostname) ? `.${hostname}` : undefined;
}

/** @param hostname of the page; cookies are for its domain unless `options` name another */
export function createCookies(options: CookieOptions, hostname: string): Cookies {
  const {
    domain = ownDomain(hostname),
    path = '/',
    expires,
    expiresInDays,
    maxAge,
    sameSite = 'Lax',
    secure,
  } = options;
  return {
    read(name) {
      const start = `${name}=`;
      return document.cookie
        .split('; ')
        .find((cookie) => cookie.startsWith(start))
        ?.slice(start.length);
    },

    write(name, value) {
      const end = expiresInDays || !expires ? Date.now() + (expiresInDays || DAYS) * DAY_MS : expires;
      let cookie = `${name}=${value}; Path=${path}; Expires=${new Date(end).toUTCString()}`;
      if (domain) cookie += `; Domain=${domain}`;
      if (maxAge) cookie += `; Max-Age=${maxAge}`;
      if (sameSite) cookie += `; SameSite=${sameSite === true ? 'Strict' : sameSite}`;
      if (secure) cookie += '; Secure';
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API does not exist on plain HTTP and in older browsers
      document.cookie = cookie;
    },
  };
}
