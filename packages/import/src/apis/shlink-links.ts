import { isObject } from '../model/fields.js';
import type { ApiOptions } from './apis.js';
import { oneByOne } from './one-by-one.js';
import { listIn, textIn, unrepeated } from './pages.js';
import { isGone } from './refusals.js';

/** Identifies a link of Shlink. */
export const idOf = (link: unknown) => JSON.stringify([textIn(link, 'domain'), textIn(link, 'shortCode')]);

/**
 * The links of Shlink, with their rules. Pages have numbers only, so a link that is deleted moves all later ones: after a page on which one
 * is found to be gone, the page is read again, and the links that have moved onto it are passed on before the next page.
 */
export function shlinkPages({ client, address, doneRows }: ApiOptions): AsyncGenerator<readonly unknown[]> {
  let isMoved = false;

  async function rulesOf(link: Readonly<Record<string, unknown>>): Promise<unknown> {
    const domain = textIn(link, 'domain');
    const url = `${address}/rest/v3/short-urls/${encodeURIComponent(textIn(link, 'shortCode') ?? '')}/redirect-rules`;
    try {
      const answer = await client.getJson(domain === undefined ? url : `${url}?domain=${encodeURIComponent(domain)}`);
      return { ...link, redirectRules: listIn(answer, 'redirectRules') };
    } catch (err) {
      isMoved ||= isGone(err);
      throw err;
    }
  }

  async function* pages() {
    for (let page = 1; ; page++) {
      const passed = new Set<string>();
      let isLast: boolean;
      do {
        isMoved = false;
        const query = `page=${page}&itemsPerPage=100&orderBy=dateCreated-ASC`;
        const answer = await client.getJson(`${address}/rest/v3/short-urls?${query}`);
        const shortUrls = isObject(answer) ? answer.shortUrls : undefined;
        const links = listIn(shortUrls, 'data');
        const others = links.filter((link) => !passed.has(idOf(link)));
        for (const link of others) passed.add(idOf(link));
        if (others.length > 0) yield others;
        const pagination = isObject(shortUrls) ? shortUrls.pagination : undefined;
        isLast = links.length === 0 || page >= Number(textIn(pagination, 'pagesCount') ?? 1);
      } while (isMoved);
      if (isLast) return;
    }
  }

  return oneByOne(unrepeated(pages()), doneRows, {
    field: 'redirectRules',
    read: (link) => (isObject(link) && link.hasRedirectRules === true ? rulesOf(link) : undefined),
  });
}
