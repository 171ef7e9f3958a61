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

function set(cookie: string): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API does not exist on plain HTTP and in older browsers
  document.cookie = cookie;
}

/**
 * @param hostname of the page; cookies are for its domain unless `options` name another
 * @param keepsFirstClick whether the oldest of several cookies of one name counts, such as one for the host and one for its parent domain, or the newest
 */
export function createCookies(options: CookieOptions, hostname: string, keepsFirstClick: boolean): Cookies {
  const defaultDomain = ownDomain(hostname);
  const { domain = defaultDomain, path = '/', expires, expiresInDays, maxAge, sameSite = 'Lax', secure } = options;
  return {
    read(name) {
      const start = `${name}=`;
      // Browsers list longer paths first, and those of one path in the order in which they were created.
      const found = document.cookie.split('; ').filter((cookie) => cookie.startsWith(start));
      return (keepsFirstClick ? found[0] : found.pop())?.slice(start.length);
    },

    write(name, value) {
      // Deletes a cookie that was set before the script tag named a domain or a path, and would stay beside the new one.
      if (defaultDomain && (domain !== defaultDomain || path !== '/')) {
        set(`${name}=; Path=/; Max-Age=0; Domain=${defaultDomain}`);
      }
      const end = expiresInDays || !expires ? Date.now() + (expiresInDays || DAYS) * DAY_MS : expires;
      let cookie = `${name}=${value}; Path=${path}; Expires=${new Date(end).toUTCString()}`;
      if (domain) cookie += `; Domain=${domain}`;
      if (maxAge) cookie += `; Max-Age=${maxAge}`;
      if (sameSite) cookie += `; SameSite=${sameSite === true ? 'Strict' : sameSite}`;
      if (secure) cookie += '; Secure';
      // The newest cookie must be last, but a replaced one keeps its place: in Firefox always, in Chromium if its value is the same.
      if (!keepsFirstClick) set(`${cookie}; Max-Age=0`);
      set(cookie);
    },
  };
}
