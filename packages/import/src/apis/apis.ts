import type { ImportSource } from '@waymark/contract';
import { isObject } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import { dubFolders, dubPages } from './dub-links.js';
import { type LinkCompletion, oneByOne } from './one-by-one.js';
import { listIn, textIn, unrepeated } from './pages.js';
import { shlinkPages } from './shlink-links.js';
import type { SourceClient } from './source-client.js';

/** Options for reading links from the API of a source. */
export interface ApiOptions {
  readonly client: SourceClient;
  /** Base URL, without a slash at its end. */
  readonly address: string;
  /** The API key, for sources that need it outside the headers. */
  readonly credential: string;
  /** Whether to read counters also from a source that needs a request per link for them. */
  readonly readsCounts: boolean;
  /** Number of rows that an earlier run of the import has processed: no request is sent for a single one of them. */
  readonly doneRows: number;
}

/** @param folderNames what {@link Api.folders} has read; empty for sources without folders */
type Pages = (options: ApiOptions, folderNames: ReadonlyMap<string, string>) => AsyncGenerator<readonly unknown[]>;

/** How to read the API of a source. */
export interface Api {
  /** Base URL; undefined for self-hosted sources, each of which has its own. */
  readonly address?: string;
  /** Headers of all requests. */
  readonly headers: (credential: string) => Record<string, string>;
  /** Reads the links, page after page. @throws ImportError when the pages repeat themselves */
  readonly pages: Pages;
  /** Reads the names of folders, by id; undefined for sources without folders. */
  readonly folders?: (options: ApiOptions) => Promise<ReadonlyMap<string, string>>;
}

const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

/** The query string of the next page. The host of its address is ignored, because the key is only sent to the configured host. */
function nextQuery(pagination: unknown): string | undefined {
  const next = textIn(pagination, 'next');
  if (next !== undefined && URL.canParse(next)) return new URL(next).search.slice(1);
  const after = textIn(pagination, 'search_after');
  return after && `size=100&archived=both&search_after=${encodeURIComponent(after)}`;
}

const clicksOf = ({ client, address }: ApiOptions): LinkCompletion => ({
  field: 'total_clicks',
  read(link) {
    const id = textIn(link, 'id');
    if (id === undefined || !isObject(link)) return undefined;
    return client
      .getJson(`${address}/bitlinks/${id}/clicks/summary?unit=month&units=-1`)
      .then((answer) => ({ ...link, total_clicks: isObject(answer) ? answer.total_clicks : null }));
  },
});

async function* bitlyPages({ client, address }: ApiOptions) {
  for (const group of listIn(await client.getJson(`${address}/groups`), 'groups')) {
    const base = `${address}/groups/${encodeURIComponent(textIn(group, 'guid') ?? '')}/bitlinks`;
    for (let query: string | undefined = 'size=100&archived=both'; query !== undefined; ) {
      const answer = await client.getJson(`${base}?${query}`);
      const links = listIn(answer, 'links');
      if (links.length === 0) break;
      yield links;
      const next = nextQuery(isObject(answer) ? answer.pagination : undefined);
      query = next === query ? undefined : next;
    }
  }
}

async function* shortIoPages({ client, address }: ApiOptions) {
  for (const domain of listIn(await client.getJson(`${address}/api/domains`))) {
    const base = `${address}/api/links?domain_id=${encodeURIComponent(textIn(domain, 'id') ?? '')}&limit=150`;
    for (let token: string | undefined = ''; token !== undefined; ) {
      const answer = await client.getJson(token === '' ? base : `${base}&pageToken=${encodeURIComponent(token)}`);
      const links = listIn(answer, 'links');
      yield links.map((link) => (isObject(link) ? { ...link, domain: textIn(domain, 'hostname') } : link));
      const next = textIn(answer, 'nextPageToken');
      token = next === token || links.length === 0 ? undefined : next;
    }
  }
}

async function* rebrandlyPages({ client, address }: ApiOptions) {
  for (let last = ''; ; ) {
    const url = `${address}/links?orderBy=createdAt&orderDir=asc&limit=25`;
    const links = listIn(await client.getJson(last === '' ? url : `${url}&last=${encodeURIComponent(last)}`));
    if (links.length === 0) return;
    yield links;
    const id = textIn(links.at(-1), 'id');
    if (id === undefined || id === last) throw new ImportError('the last link of a page has no id of its own');
    last = id;
  }
}

/** Sends the signature in a form, because servers log the addresses of requests. */
async function* yourlsPages({ client, address, credential }: ApiOptions) {
  const url = address.endsWith('.php') ? address : `${address}/yourls-api.php`;
  for (let start = 0; ; ) {
    const answer = await client.getJson(url, {
      signature: credential,
      action: 'stats',
      filter: 'last',
      format: 'json',
      limit: '500',
      start: String(start),
    });
    const links = isObject(answer) ? answer.links : undefined;
    const page = Object.values(isObject(links) || Array.isArray(links) ? links : {});
    if (page.length === 0) return;
    yield page;
    start += page.length;
  }
}

async function* kuttPages({ client, address }: ApiOptions) {
  for (let skip = 0; ; ) {
    const links = listIn(await client.getJson(`${address}/api/v2/links?limit=50&skip=${skip}`), 'data');
    if (links.length === 0) return;
    yield links;
    skip += links.length;
  }
}

const guarded =
  (pages: Pages): Pages =>
  (options, folderNames) =>
    unrepeated(pages(options, folderNames));
const guardedBitly = guarded(bitlyPages);

/** The APIs of the sources that have one. */
export const APIS: Readonly<Partial<Record<ImportSource, Api>>> = {
  dub: { address: 'https://api.dub.co', headers: bearer, pages: guarded(dubPages), folders: dubFolders },
  bitly: {
    address: 'https://api-ssl.bitly.com/v4',
    headers: bearer,
    pages: (options, folderNames) =>
      options.readsCounts
        ? oneByOne(guardedBitly(options, folderNames), options.doneRows, clicksOf(options))
        : guardedBitly(options, folderNames),
  },
  'short.io': {
    address: 'https://api.short.io',
    headers: (credential) => ({ authorization: credential }),
    pages: guarded(shortIoPages),
  },
  rebrandly: {
    address: 'https://api.rebrandly.com/v1',
    headers: (credential) => ({ apikey: credential }),
    pages: guarded(rebrandlyPages),
  },
  yourls: { headers: () => ({}), pages: guarded(yourlsPages) },
  shlink: {
    headers: (credential) => ({ 'x-api-key': credential }),
    pages: shlinkPages,
  },
  kutt: { headers: (credential) => ({ 'x-api-key': credential }), pages: guarded(kuttPages) },
};
