import { isObject } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import { oneByOne } from './one-by-one.js';
import { listIn, shortId, textIn, unrepeated } from './pages.js';
import type { SourceClient } from './source-client.js';

const LINKS_PER_PAGE = 100;
/** How many ids of links are kept, of those passed on last. If more links than that are deleted at once, some others are passed on twice. */
const PASSED_MAX = 10_000;
/** How often in a row the list may become shorter, without a link to pass on, before the import ends. */
const CHANGES_MAX = 20;

interface ShlinkApi {
  readonly client: SourceClient;
  /** Base URL of the API, without a slash at its end. */
  readonly address: string;
}

interface LinkListing extends ShlinkApi {
  /** ISO time; links that were created later are not listed. If absent, all links are. */
  readonly end?: string;
}

/** A place in the list of links. */
interface ListPosition {
  /** From 1. */
  readonly page: number;
  /** Index on the page. */
  readonly index: number;
  /** Number of links in the list when the page was read; undefined if it is not known. */
  readonly total?: number | undefined;
}

/** Links on a page of the list that were not passed on before. */
interface LinkPage {
  readonly page: number;
  readonly total: number | undefined;
  readonly links: readonly { readonly index: number; readonly link: unknown }[];
}

/** The pagination of a list in an answer of Shlink's API. */
export function paginationIn(list: unknown, page: number) {
  const pagination = isObject(list) ? list.pagination : undefined;
  const total = textIn(pagination, 'totalItems');
  return {
    isLast: page >= Number(textIn(pagination, 'pagesCount') ?? 1),
    total: total === undefined ? undefined : Number(total),
  };
}

async function linkPage({ client, address, end }: LinkListing, page: number) {
  const until = end === undefined ? '' : `&endDate=${encodeURIComponent(end)}`;
  const answer = await client.getJson(
    `${address}/rest/v3/short-urls?page=${page}&itemsPerPage=${LINKS_PER_PAGE}&orderBy=dateCreated-ASC${until}`,
  );
  const shortUrls = isObject(answer) ? answer.shortUrls : undefined;
  return { links: listIn(shortUrls, 'data'), ...paginationIn(shortUrls, page) };
}

const idOf = (link: unknown) => shortId(JSON.stringify([textIn(link, 'domain'), textIn(link, 'shortCode')]));

/**
 * The links of Shlink from a position on, in the order of their creation. Pages have numbers only, so a link that is deleted moves all later
 * ones: when the list has become shorter, as many links before the position are read again, and those that were not passed on before are passed on now.
 *
 * @throws ImportError if the list becomes shorter again and again
 */
export async function* linkPages(
  listing: LinkListing,
  from: ListPosition = { page: 1, index: 0 },
): AsyncGenerator<LinkPage> {
  const passed = new Set<string>();
  let { page, index: start, total: before } = from;
  let lastRead = 0;
  for (let changes = 0; ; ) {
    const { links, isLast, total } = await linkPage(listing, page);
    const gone = before !== undefined && total !== undefined ? before - total : 0;
    before = total;
    if (gone > 0) {
      if (++changes > CHANGES_MAX) throw new ImportError('the links of the source change while they are read');
      const next = Math.max(0, (page - 1) * LINKS_PER_PAGE + start - gone);
      page = Math.floor(next / LINKS_PER_PAGE) + 1;
      start = next % LINKS_PER_PAGE;
      continue;
    }
    const isNew = page > lastRead;
    const others = links
      .map((link, index) => ({ index, link }))
      .filter(({ index, link }) => index >= start && (isNew || !passed.has(idOf(link))));
    for (const link of links) passed.add(idOf(link));
    for (const id of passed) {
      if (passed.size <= PASSED_MAX) break;
      passed.delete(id);
    }
    lastRead = Math.max(lastRead, page);
    if (others.length > 0) {
      changes = 0;
      yield { page, total, links: others };
    }
    if (isLast || links.length === 0) return;
    page++;
    start = 0;
  }
}

interface ShlinkPagesOptions extends ShlinkApi {
  /** How many links an earlier run has processed. */
  readonly doneRows: number;
}

/** The links of Shlink, with their rules. */
export function shlinkPages({ client, address, doneRows }: ShlinkPagesOptions): AsyncGenerator<readonly unknown[]> {
  async function rulesOf(link: Readonly<Record<string, unknown>>): Promise<unknown> {
    const domain = textIn(link, 'domain');
    const url = `${address}/rest/v3/short-urls/${encodeURIComponent(textIn(link, 'shortCode') ?? '')}/redirect-rules`;
    const answer = await client.getJson(domain === undefined ? url : `${url}?domain=${encodeURIComponent(domain)}`);
    return { ...link, redirectRules: listIn(answer, 'redirectRules') };
  }

  async function* pages() {
    for await (const { links } of linkPages({ client, address })) yield links.map(({ link }) => link);
  }

  return oneByOne(unrepeated(pages()), doneRows, {
    field: 'redirectRules',
    read: (link) => (isObject(link) && link.hasRedirectRules === true ? rulesOf(link) : undefined),
  });
}
