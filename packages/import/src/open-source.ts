import { createHash } from 'node:crypto';
import type { Outbound } from '@waymark/outbound';
import { APIS, type ApiOptions } from './apis/apis.js';
import { numbered } from './apis/pages.js';
import { createSourceClient } from './apis/source-client.js';
import type { FileFormat } from './files/file-format.js';
import { readCsv } from './files/read-csv.js';
import { readNdjson } from './files/read-ndjson.js';
import { readYourlsDump } from './files/read-sql.js';
import { dubHistory } from './history/dub-history.js';
import type { HistorySource } from './history/past-event.js';
import { shlinkHistory } from './history/shlink-history.js';
import { yourlsHistory } from './history/yourls-history.js';
import { ImportError } from './model/import-error.js';
import type { MapRecord, Source, SourceRow } from './model/source-link.js';
import { bitlyLinks } from './sources/bitly.js';
import { csvLinks } from './sources/csv.js';
import { dubLinks } from './sources/dub.js';
import { kuttLinks } from './sources/kutt.js';
import { rebrandlyLinks } from './sources/rebrandly.js';
import { shlinkLinks } from './sources/shlink.js';
import { shortIoLinks } from './sources/short-io.js';
import { yourlsLinks } from './sources/yourls.js';

const MAPPERS: Readonly<Record<Source, MapRecord>> = {
  dub: dubLinks,
  bitly: bitlyLinks,
  'short.io': shortIoLinks,
  rebrandly: rebrandlyLinks,
  yourls: yourlsLinks,
  shlink: shlinkLinks,
  kutt: kuttLinks,
  // Its records in JSON have the fields of our API, which are those of dub's.
  csv: dubLinks,
};

/** The records of a source, and what reads them. */
export interface OpenSource {
  readonly rows: AsyncIterable<SourceRow>;
  readonly mapRecord: MapRecord;
  readonly folderNames?: ReadonlyMap<string, string>;
}

/** The records of a file. @throws ImportError */
export function openFile(source: Source, format: FileFormat, chunks: AsyncIterable<Uint8Array>): OpenSource {
  if (format === 'csv') return { rows: readCsv(chunks), mapRecord: csvLinks };
  if (format === 'ndjson') return { rows: readNdjson(chunks), mapRecord: MAPPERS[source] };
  if (source !== 'yourls') throw new ImportError('a dump of SQL can be read for yourls only');
  return { rows: readYourlsDump(chunks), mapRecord: yourlsLinks };
}

export interface ApiSourceOptions {
  readonly source: Source;
  /** Undefined for the source's own. */
  readonly address: string | undefined;
  readonly credential: string;
  /** Id of the workspace there, for Rebrandly. */
  readonly account?: string | undefined;
  readonly readsCounts: boolean;
  readonly outbound: Outbound;
  readonly wait: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** The API of a source and its address. @throws ImportError when it has none */
function apiOf(source: Source, given: string | undefined) {
  const api = APIS[source];
  if (api === undefined) throw new ImportError(`${source} has no API: name a file`);
  const address = (given ?? api.address)?.replace(/(?<!\/)\/+$/, '');
  if (address === undefined)
    throw new ImportError(`${source} has no address of its own: name a file, or the address of yours`);
  return { api, address };
}

/** Checks that links can be read from the API of a source. @throws ImportError */
export function checkApi(source: Source, address: string | undefined): void {
  apiOf(source, address);
}

function connect(options: ApiSourceOptions) {
  const { source, credential, account, readsCounts } = options;
  const { api, address } = apiOf(source, options.address);
  const headers = { ...api.headers(credential), ...(account === undefined ? {} : { workspace: account }) };
  const client = createSourceClient({ ...options, headers });
  const requests: ApiOptions = { client, address, credential, readsCounts };
  return { api, requests };
}

/** The records of a source's API, page after page. @throws ImportError */
export async function openApi(options: ApiSourceOptions): Promise<OpenSource> {
  const { api, requests } = connect(options);
  const folderNames = await api.folders?.(requests);
  return {
    rows: numbered(api.pages(requests)),
    mapRecord: MAPPERS[options.source],
    ...(folderNames === undefined ? {} : { folderNames }),
  };
}

function identityOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64url');
}

/** The history in a source's API. @throws ImportError for sources whose API has none */
export function openApiHistory(options: ApiSourceOptions): HistorySource {
  const { source, now } = options;
  const { client, address, credential } = connect(options).requests;
  const history = { client, address, identity: identityOf(source, address, credential), now };
  if (source === 'dub') return dubHistory(history);
  if (source === 'shlink') return shlinkHistory(history);
  throw new ImportError(`the API of ${source} has no events${source === 'yourls' ? ': name a file with its log' : ''}`);
}

export interface FileHistoryOptions {
  readonly source: Source;
  readonly format: FileFormat;
  /** Tells the file from others: its name, size and time. */
  readonly name: string;
  /** Opens the file from its start. */
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly timezone: string | undefined;
}

/** The history in a file. @throws ImportError for sources that have none in files */
export function openFileHistory({ source, name, ...file }: FileHistoryOptions): HistorySource {
  if (source === 'yourls') return yourlsHistory({ ...file, identity: identityOf(source, name) });
  const fromApi = source === 'dub' || source === 'shlink' ? ': events are read from its API' : '';
  throw new ImportError(`files of ${source} have no events${fromApi}`);
}
