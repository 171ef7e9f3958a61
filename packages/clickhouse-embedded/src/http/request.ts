import type { IncomingHttpHeaders } from 'node:http';
import { exceptions } from '../engine/database-exception.js';
import type { Statement } from '../engine/statement.js';
import { readForm } from './request-body.js';

/** Fields of a URL or form that the HTTP interface defines. Every other one is a setting, or a query parameter (`param_…`). */
const INTERFACE_FIELDS: ReadonlySet<string> = new Set([
  'query',
  'database',
  'default_format',
  'query_id',
  'user',
  'password',
  'quota_key',
  'stacktrace',
  'role',
  'buffer_size',
  'wait_end_of_query',
  'session_timeout',
  'session_check',
  'close_session',
]);

const PARAMETER_PREFIX = 'param_';
const NO_DATA = Buffer.alloc(0);

/** A request whose body has been read. */
export interface RequestContext {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** Decompressed. */
  readonly body: Buffer;
  /** Default settings, which the URL can override. */
  readonly baseSettings: Readonly<Record<string, string>>;
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The defaults of a ClickHouse server: `http_max_fields`, and `http_max_field_value_size` in bytes, percent-encoded. */
const FIELDS_MAX = 1000;
const VALUE_BYTES_MAX = 128 * 1024;

/** @throws DatabaseException for more or longer fields than a ClickHouse server takes, so that what works here works there */
function checkFields(url: URL): void {
  const fields = url.search.slice(1).split('&');
  if (fields.length > FIELDS_MAX) throw exceptions.form('Too many form fields');
  if (fields.some((field) => field.length - field.indexOf('=') - 1 > VALUE_BYTES_MAX)) {
    throw exceptions.form('Field value too long');
  }
}

/** Parses the statement of a request. Throws `DatabaseException` for features that this server does not support. */
export async function readStatement(context: RequestContext): Promise<Statement> {
  const { headers, url } = context;
  checkFields(url);
  const contentType = header(headers, 'content-type') ?? '';
  const isForm = contentType.startsWith('multipart/form-data');
  const fields = isForm ? await readForm(contentType, context.body) : new URLSearchParams();
  for (const [name, value] of url.searchParams) fields.append(name, value);
  refuseUnsupported(fields);

  const query = fields.get('query') ?? '';
  const data = isForm ? NO_DATA : context.body;
  const text = joined(query, data);
  if (text.sql.trim() === '') throw exceptions.syntax('Empty query.');
  const { settings, parameters } = splitFields(fields, context);
  return {
    ...text,
    owner: fields.get('quota_key') || header(headers, 'x-clickhouse-quota') || undefined,
    database: fields.get('database') || header(headers, 'x-clickhouse-database') || undefined,
    format: fields.get('default_format') || header(headers, 'x-clickhouse-format') || 'TabSeparated',
    settings,
    parameters,
  };
}

/** Joins the query of the URL and the body with a line feed, as a ClickHouse server does. */
function joined(query: string, data: Buffer): Pick<Statement, 'sql' | 'data'> {
  if (query === '') return { sql: data.toString('utf8'), data: NO_DATA };
  return data.length === 0 ? { sql: query, data } : { sql: `${query}\n`, data };
}

function refuseUnsupported(fields: URLSearchParams): void {
  if (fields.get('session_id')) {
    throw exceptions.notImplemented('Sessions (session_id) are not supported by the embedded server.');
  }
  for (const name of ['compress', 'decompress']) {
    const value = fields.get(name);
    if (value !== null && value !== '0') {
      throw exceptions.notImplemented(`${name}=${value} is not supported: use the compression of HTTP.`);
    }
    fields.delete(name);
  }
}

/**
 * The lower of two limits; 0 means no limit. A request cannot set a higher one than the engine's default: it would fail at the limit of the
 * whole engine, which looks as if other statements had taken the memory.
 */
function lower(one: string | undefined, other: string | undefined): string | undefined {
  const limits = [one, other].filter((limit) => limit !== undefined && Number(limit) > 0);
  return limits.sort((a, b) => Number(a) - Number(b))[0] ?? other;
}

function splitFields(fields: URLSearchParams, { method, baseSettings }: RequestContext) {
  const settings = new Map(Object.entries(baseSettings));
  const parameters = new Map<string, string>();
  for (const [name, value] of fields) {
    if (name.startsWith(PARAMETER_PREFIX)) parameters.set(name.slice(PARAMETER_PREFIX.length), value);
    else if (!INTERFACE_FIELDS.has(name)) settings.set(name, value);
  }
  const memory = lower(baseSettings.max_memory_usage, settings.get('max_memory_usage'));
  if (memory !== undefined) settings.set('max_memory_usage', memory);
  // As on a ClickHouse server, GET cannot change data. 2 allows reads and settings; the URL may only choose the stricter 1.
  if (method !== 'POST') settings.set('readonly', settings.get('readonly') === '1' ? '1' : '2');
  return { settings, parameters };
}
