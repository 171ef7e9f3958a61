import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { answeredStatus } from '../requests/after-answer.js';
import { clientAddress } from '../requests/request-address.js';
import { errorFields, lineFields } from './error-fields.js';
import { standardOutputFile } from './log-destination.js';

export type { Logger };

/** Names of fields whose values are never logged. */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  '["set-cookie"]',
  'password',
  'clickhousePassword',
  'token',
  'apiKey',
  'publishableKey',
  'instanceKey',
  'instanceKeyNext',
  'instanceKeyPrevious',
  'adminKey',
  'adminKeyPrevious',
  'secret',
];

/** The paths of these fields at the top level of a log object and in the two levels below. */
const REDACTED_PATHS = SECRET_NAMES.flatMap((name) => {
  const below = name.startsWith('[') ? name : `.${name}`;
  return [name, `*${below}`, `*.*${below}`];
});

export interface CreateLoggerOptions {
  /** Name of the process, on every line. */
  readonly name: string;
  readonly level?: string;
  /** Standard output by default; tests capture the lines. */
  readonly destination?: DestinationStream;
}

const IPV6_GROUPS_KEPT = 3;

/**
 * The network of an address (/24 of IPv4, /48 of IPv6), which helps to debug a problem and does not identify a person.
 *
 * @param address in canonical form; `''` once the client has disconnected
 */
function networkOf(address: string): string | null {
  if (address === '') return null;
  const ipv4 = /^(\d+\.\d+\.\d+)\.\d+$/.exec(address)?.[1];
  if (ipv4 !== undefined) return `${ipv4}.0`;
  const [head = ''] = address.split('::');
  return `${head.split(':').slice(0, IPV6_GROUPS_KEPT).join(':')}::`;
}

/** The path without its query, which may contain secrets. */
function pathOf(url: string | undefined): string {
  const path = url ?? '';
  const end = path.indexOf('?');
  return end < 0 ? path : path.slice(0, end);
}

const serializers: LoggerOptions['serializers'] = {
  err: errorFields,
  req: (request: FastifyRequest) => ({
    method: request.method,
    path: pathOf(request.url),
    ip: networkOf(clientAddress(request)),
  }),
  res: (reply: FastifyReply) => ({ status: answeredStatus(reply) }),
};

/** A JSON lines logger that redacts secrets by field name. Writes are synchronous, so the last line before a crash is not lost. */
export function createLogger(options: CreateLoggerOptions): Logger {
  const loggerOptions: LoggerOptions = {
    name: options.name,
    level: options.level ?? 'info',
    redact: { paths: REDACTED_PATHS, censor: '***' },
    serializers,
    formatters: { log: lineFields },
  };
  const destination = options.destination ?? standardOutputFile();
  return destination === undefined ? pino(loggerOptions) : pino(loggerOptions, destination);
}
