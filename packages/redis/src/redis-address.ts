import { pathToFileURL } from 'node:url';

/** One server in the list of servers of a Redis URL. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly usesTls: boolean;
}

/** One server, whose URL ioredis itself parses. */
export interface ServerAddress {
  readonly kind: 'server';
  readonly url: string;
}

/** One server on this machine that listens on a unix socket. */
export interface SocketAddress extends Omit<Credentials, 'usesTls'> {
  readonly kind: 'socket';
  /** Absolute path of the socket. */
  readonly path: string;
  readonly database: number;
}

/** A server and its replicas, watched by Sentinels. */
export interface SentinelAddress extends Credentials {
  readonly kind: 'sentinel';
  readonly sentinels: readonly RedisNode[];
  /** The name of the master in the configuration of the Sentinels. */
  readonly master: string;
  readonly database: number;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

/** A Redis Cluster. */
export interface ClusterAddress extends Credentials {
  readonly kind: 'cluster';
  /** Some nodes of the cluster; the others are discovered through them. */
  readonly nodes: readonly RedisNode[];
}

/** A parsed REDIS_URL; docs/settings.md describes its forms. */
export type RedisAddress = ServerAddress | SocketAddress | SentinelAddress | ClusterAddress;

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const PORT_MAX = 65_535;

/** The limit of Linux, which truncates a longer path without an error, so that it names another socket. */
const SOCKET_PATH_BYTES_MAX = 107;

const REDIS_URL_FORMS =
  'redis://host, redis+sentinel://host,host/name or redis+cluster://host,host (rediss with TLS), or redis+unix://localhost/path';

const LIST_URL =
  /^(?<scheme>rediss?)\+(?<kind>sentinel|cluster):\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^@/?]+)(?<path>[^?]*)(?:\?(?<query>.*))?$/;
const NODE = /^(?<host>\[[\da-fA-F:.]+\]|[^:[\]\s]+)(?::(?<port>\d{1,5}))?$/;
const SENTINEL_PATH = /^\/(?<master>[^/]+)(?:\/(?<database>\d{1,4}))?\/?$/;
const SOCKET_DATABASE = /^\d{1,4}$/;
const SENTINEL_PARAMETERS = ['sentinelUsername', 'sentinelPassword'];

function invalid(): Error {
  return new Error(`must be a URL of the form ${REDIS_URL_FORMS}`);
}

function decoded(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a % that begins no escape: write %25 for a % itself');
  }
}

function parseNode(text: string, defaultPort: number): RedisNode {
  const { host, port } = NODE.exec(text)?.groups ?? {};
  if (host === undefined || Number(port ?? 0) > PORT_MAX) throw invalid();
  return { host: host.replace(/[[\]]/g, ''), port: Number(port ?? defaultPort) };
}

/** @throws Error for parameters other than `known`, or a % that begins no escape */
function parseParameters(query: string | undefined, known: readonly string[]): URLSearchParams {
  decoded(query);
  // URLSearchParams takes `+` for a space, as in forms.
  const parameters = new URLSearchParams(query?.replaceAll('+', '%2B'));
  for (const name of parameters.keys()) {
    if (!known.includes(name)) throw new Error(`has an unknown parameter: ${known.join(', ') || 'none'} can be set`);
  }
  return parameters;
}

/** @throws Error for a URL that names no socket of this machine */
function parseSocketAddress(text: string): SocketAddress {
  if (!URL.canParse(text)) throw invalid();
  const url = new URL(text);
  const path = decoded(url.pathname) ?? '/';
  if (!['', 'localhost'].includes(url.host) || path.endsWith('/') || url.hash !== '') throw invalid();
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX || path.includes('\0')) {
    throw new Error(`has a path of more than ${SOCKET_PATH_BYTES_MAX} bytes or with a NUL, which no socket can have`);
  }
  const database = parseParameters(url.search, ['db']).get('db') ?? '0';
  if (!SOCKET_DATABASE.test(database)) throw new Error('must have a number as its db');
  const [username, password] = [decoded(url.username), decoded(url.password)];
  return { kind: 'socket', path, database: Number(database), username, password };
}

/** The REDIS_URL of a server that listens on the socket at `path`, an absolute path. */
export function redisSocketUrl(path: string, password: string): string {
  return `redis+unix://:${encodeURIComponent(password)}@localhost${pathToFileURL(path).pathname}`;
}

/**
 * Parses the value of REDIS_URL; docs/settings.md describes its forms.
 *
 * @throws Error for an invalid value. Its message continues a sentence that begins with the name of the setting, and does not contain the
 *   value, which may have a password
 */
export function parseRedisAddress(url: string): RedisAddress {
  if (/^rediss?:\/\//.test(url)) {
    if (!URL.canParse(url)) throw invalid();
    const { username, password } = new URL(url);
    // ioredis decodes them, too, and throws an error that names no setting.
    for (const text of [username, password]) decoded(text);
    return { kind: 'server', url };
  }
  if (url.startsWith('redis+unix://')) return parseSocketAddress(url);
  const parts = LIST_URL.exec(url)?.groups;
  if (parts?.hosts === undefined) throw invalid();
  const { kind, hosts, query } = parts;
  const path = parts.path ?? '';
  const nodes = (defaultPort: number) => hosts.split(',').map((host) => parseNode(host, defaultPort));
  const credentials: Credentials = {
    username: decoded(parts.user),
    password: decoded(parts.password),
    usesTls: parts.scheme === 'rediss',
  };
  if (kind === 'cluster') {
    if (path !== '' && path !== '/') throw new Error('must name no database: a cluster has one only');
    parseParameters(query, []);
    return { kind: 'cluster', nodes: nodes(REDIS_PORT), ...credentials };
  }
  const { master, database } = SENTINEL_PATH.exec(path)?.groups ?? {};
  const name = decoded(master);
  if (name === undefined) throw new Error("must end with the master's name: redis+sentinel://host,host/name");
  const parameters = parseParameters(query, SENTINEL_PARAMETERS);
  return {
    kind: 'sentinel',
    sentinels: nodes(SENTINEL_PORT),
    master: name,
    database: Number(database ?? 0),
    sentinelUsername: parameters.get('sentinelUsername') ?? undefined,
    sentinelPassword: parameters.get('sentinelPassword') ?? undefined,
    ...credentials,
  };
}
