import { createHash } from 'node:crypto';
import type { ImportFileFormat, ImportSource } from '@waymark/contract';
import type { Outbound } from '@waymark/outbound';
import { APIS, type ApiOptions } from './apis/apis.js';
import { numbered } from './apis/pages.js';
import { createSourceClient } from './apis/source-client.js';
import { readCsv } from './files/read-csv.js';
import { readNdjson } from './files/read-ndjson.js';
import { readYourlsDump } from './files/read-sql.js';
import { dubHistory } from './history/dub-history.js';
import type { HistorySource } from './history/past-event.js';
import { shlinkHistory } from './history/shlink-history.js';
import { yourlsHistory } from './history/yourls-history.js';
import { ImportError } from './model/import-error.js';
import type { MapRecord, SourceRow } from './model/source-link.js';
import { bitlyLinks } from './sources/bitly.js';
import { csvLinks } from './sources/csv.js';
import { dubLinks } from './sources/dub.js';
import { kuttLinks } from './sources/kutt.js';
import { rebrandlyLinks } from './sources/rebrandly.js';
import { shlinkLinks } from './sources/shlink.js';
import { shortIoLinks } from './sources/short-io.js';
import { yourlsLinks } from './sources/yourls.js';

const MAPPERS: Readonly<Record<ImportSource, MapRecord>> = {
  dub: dubLinks,
  bitly: bitlyLinks,
  'short.io': shortIoLinks,
  rebrandly: rebrandlyLinks,
  yourls: yourlsLinks,
  shlink: shlinkLinks,
  kutt: kuttLinks,
  // NDJSON records of the source `csv` have the fields of the API of Waymark, which are those of dub.
  csv: dubLinks,
};

/** The records of a source, and how to map them to links. */
export interface OpenSource {
  readonly rows: AsyncIterable<SourceRow>;
  readonly mapRecord: MapRecord;
  /** Names of folders by id, for sources whose links have only the id. */
  readonly folderNames?: ReadonlyMap<string, string>;
}

/**
 * Opens the file of a source; its rows throw ImportError when it cannot be read.
 *
 * @throws ImportError for a format that the source does not have
 */
export function openFile(
  source: ImportSource,
  format: ImportFileFormat,
  chunks: AsyncIterable<Uint8Array>,
): OpenSource {
  if (format === 'csv') return { rows: readCsv(chunks), mapRecord: csvLinks };
  if (format === 'ndjson') return { rows: readNdjson(chunks), mapRecord: MAPPERS[source] };
  if (source !== 'yourls') throw new ImportError('a dump of SQL can be read for yourls only');
  return { rows: readYourlsDump(chunks), mapRecord: yourlsLinks };
}

/** How to reach the API of a source. */
export interface ApiSourceOptions {
  readonly source: ImportSource;
  /** Base URL of the API; undefined for that of the provider. */
  readonly address: string | undefined;
  readonly credential: string;
  /** Id of the workspace at Rebrandly; other sources have none. */
  readonly account?: string | undefined;
  /** Whether to read counters also from a source that needs a request per link for them. */
  readonly readsCounts: boolean;
  /** Number of rows that an earlier run of the import has processed; 0 by default. No request is sent for a single one of them. */
  readonly doneRows?: number;
  readonly outbound: Outbound;
  /** Called before each request. @throws to end the import */
  readonly beforeRequest?: () => Promise<void>;
  /** Waits that many milliseconds, at the request of the source. @throws to end the import */
  readonly wait: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** The API of a source and its base URL. @throws ImportError when the source has no API, or none was given for a self-hosted one */
function apiOf(source: ImportSource, given: string | undefined) {
  const api = APIS[source];
  if (api === undefined) throw new ImportError(`${source} has no API: name a file`);
  const address = (given ?? api.address)?.replace(/(?<!\/)\/+$/, '');
  if (address === undefined)
    throw new ImportError(`${source} has no address of its own: name a file, or the address of yours`);
  return { api, address };
}

/** Checks that the source has an API and that its address is known; sends no request. @throws ImportError */
export function checkApi(source: ImportSource, address: string | undefined): void {
  apiOf(source, address);
}

function connect(options: ApiSourceOptions) {
  const { source, credential, account, readsCounts, doneRows = 0 } = options;
  const { api, address } = apiOf(source, options.address);
  const headers = { ...api.headers(credential), ...(account === undefined ? {} : { workspace: account }) };
  const client = createSourceClient({ ...options, headers, hasAnswered: doneRows > 0 });
  const requests: ApiOptions = { client, address, credential, readsCounts, doneRows };
  return { api, requests };
}

/** Opens the API of a source: reads the names of folders now, and the links when `rows` is read. @throws ImportError */
export async function openApi(options: ApiSourceOptions): Promise<OpenSource> {
  const { api, requests } = connect(options);
  const folderNames = await api.folders?.(requests);
  return {
    rows: numbered(api.pages(requests, folderNames ?? new Map())),
    mapRecord: MAPPERS[options.source],
    ...(folderNames === undefined ? {} : { folderNames }),
  };
}

function identityOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64url');
}

/** Opens the history in the API of a source. @throws ImportError for sources whose API has no events */
export function openApiHistory(options: ApiSourceOptions): HistorySource {
  const { source, now } = options;
  const { client, address, credential } = connect(options).requests;
  const history = { client, address, identity: identityOf(source, address, credential), now };
  if (source === 'dub') return dubHistory(history);
  if (source === 'shlink') return shlinkHistory(history);
  throw new ImportError(`the API of ${source} has no events${source === 'yourls' ? ': name a file with its log' : ''}`);
}

/** A file with the history of a source. */
export interface FileHistoryOptions {
  readonly source: ImportSource;
  readonly format: ImportFileFormat;
  /** Identifies the file and its content, such as by path, size and time of change. */
  readonly name: string;
  /** Opens the file from its start. */
  readonly open: () => AsyncIterable<Uint8Array>;
  /** IANA zone of times without a zone. */
  readonly timezone: string | undefined;
  /** Address of the API that the links come from, if they do. */
  readonly address?: string | undefined;
}

/** Opens the history in a file. @throws ImportError for sources whose files have no events */
export function openFileHistory({ source, name, ...file }: FileHistoryOptions): HistorySource {
  if (source === 'yourls') {
    const { address } = file;
    return yourlsHistory({ ...file, identity: identityOf(source, name, ...(address === undefined ? [] : [address])) });
  }
  const fromApi = source === 'dub' || source === 'shlink' ? ': events are read from its API' : '';
  throw new ImportError(`files of ${source} have no events${fromApi}`);
}
