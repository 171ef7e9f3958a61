/** Where a ClickHouse server listens, and the credentials in its URL. */
export interface ClickHouseAddress {
  /** Scheme, host and port. Of a server on a unix socket it is only a name. */
  readonly origin: string;
  /** Absolute path of the unix socket that the server listens on; undefined if it listens on a port. */
  readonly socketPath: string | undefined;
  /** Undefined if the URL has none. */
  readonly user: string | undefined;
  /** Undefined if the URL has none. */
  readonly password: string | undefined;
}

/** The most that Linux takes. What is longer is cut off without an error, and is then the path of another socket. */
const SOCKET_PATH_BYTES_MAX = 107;
/** More than any address has; parsing a long host in Unicode takes quadratic time. */
const ADDRESS_CHARS_MAX = 2048;
const SCHEME = /^(?:https?|http\+unix):\/\//;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a % that begins no escape: write %25 for a % itself');
  }
}

function socketPathOf({ host, pathname }: URL): string {
  const path = decoded(pathname);
  if (!['', 'localhost'].includes(host) || path === '' || path.endsWith('/'))
    throw new Error('must have the form http+unix://localhost/path');
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX || path.includes('\0'))
    throw new Error(`has a path of more than ${SOCKET_PATH_BYTES_MAX} bytes or with a NUL, which no socket can have`);
  return path;
}

/**
 * Parses the value of CLICKHOUSE_URL: `http://host:8123`, `https://host:8443` or `http+unix://localhost/path`, with the path of the unix
 * socket on which a server of this machine listens; each may have a user and a password.
 *
 * @throws Error for an invalid value. Its message continues a sentence that begins with the name of the setting, and does not contain the
 *   value, which may have a password
 */
export function parseClickHouseAddress(text: string): ClickHouseAddress {
  if (text.length > ADDRESS_CHARS_MAX) throw new Error(`must have at most ${ADDRESS_CHARS_MAX} characters`);
  if (!SCHEME.test(text) || !URL.canParse(text))
    throw new Error('must be a URL starting http:// or https:// or http+unix://');
  const url = new URL(text);
  const credentials = { user: decoded(url.username) || undefined, password: decoded(url.password) || undefined };
  if (url.search !== '') throw new Error('must not have parameters');
  if (url.hash !== '') throw new Error('must not have a fragment');
  if (url.protocol === 'http+unix:')
    return { origin: 'http://localhost', socketPath: socketPathOf(url), ...credentials };
  if (!/^\/+$/.test(url.pathname))
    throw new Error('must not have a path: the database is named by CLICKHOUSE_DATABASE');
  return { origin: url.origin, socketPath: undefined, ...credentials };
}
