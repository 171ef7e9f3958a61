import { createHash } from 'node:crypto';
import { isBotAgent } from '@waymark/visit';
import { listIn, textIn } from '../apis/pages.js';
import { createRefusals, isRefusal } from '../apis/refusals.js';
import { linkPages, paginationIn } from '../apis/shlink-links.js';
import type { SourceClient } from '../apis/source-client.js';
import { fieldsOf, isObject } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import { RowError } from '../model/source-link.js';
import { BOT, positionOf, toItem } from './history-items.js';
import type { HistoryPage, HistorySource, PastAddress, PastEvent } from './past-event.js';

const VISITS_PER_PAGE = 1000;
/** How often the visits of a link may change, and be read again, before the import ends. */
const CHANGES_MAX = 5;

/** Where to continue, stored as JSON after each batch. */
interface Position {
  /** Page of the list of links, from 1. */
  readonly links: number;
  /** Index of the link on that page. */
  readonly link: number;
  /** Number of links in the list when that page was read; undefined if it is not known, as in positions of earlier versions. */
  readonly listed?: number | undefined;
  /** Page of the visits of the link, from 1. */
  readonly visits: number;
  /** Number of visits of the link when its first page was read; undefined before that. */
  readonly total?: number | undefined;
  /** Number of visits that were read so far. */
  readonly row: number;
  /** ISO time of the start of the import; later visits are left to a later import. */
  readonly end: string;
  /** Date of the last visit that was read, to the second. */
  readonly second: string;
  /** How many visits with equal content that second has had so far, by the hash of the content. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The part of a position in the visits of a link before any is read. */
const UNREAD = { visits: 1, total: undefined, second: '', counts: {} };

/** Whether a refusal is due to one link. A 403 may come from a firewall for a while, or from the permissions of the key. */
const isOfLink = (err: unknown): err is ImportError => isRefusal(err) && err.status !== 403;

/** A hash that identifies a visit. It leaves out the location, which Shlink adds to a visit later. */
function contentOf({ domain, key }: PastAddress, visit: unknown): string {
  const texts = [domain, key, ...['date', 'referer', 'userAgent'].map((name) => textIn(visit, name) ?? '')];
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64url').slice(0, 22);
}

/** Reads a visit of Shlink's API. @throws RowError for one that cannot become a click */
function shlinkClick(record: unknown, address: PastAddress, identity: string): PastEvent | typeof BOT {
  const visit = fieldsOf(record);
  const time = visit.time('date');
  if (time === null) throw new RowError('date is missing');
  const userAgent = visit.text('userAgent') ?? '';
  if (visit.flag('potentialBot') || (userAgent !== '' && isBotAgent(userAgent))) return BOT;
  const location = fieldsOf(visit.take('visitLocation') ?? {});
  return {
    kind: 'click',
    address,
    timeMs: Date.parse(time),
    identity,
    alias: null,
    url: null,
    place: {
      country: location.text('countryCode') ?? undefined,
      region: location.text('regionName') ?? undefined,
      city: location.text('cityName') ?? undefined,
      continent: undefined,
    },
    device: null,
    browser: null,
    os: null,
    userAgent,
    referrer: visit.text('referer'),
    trigger: 'link',
  };
}

export interface ShlinkHistoryOptions {
  readonly client: SourceClient;
  /** Base URL of the API, without a slash at its end. */
  readonly address: string;
  /** See {@link HistorySource.identity}. */
  readonly identity: string;
  readonly now: () => number;
}

/**
 * Reads the visits of one link after the other. Visits have no ids, so each is identified by its content, and equal ones by their order. A
 * link whose number of visits changes while they are read is read again. One that the source does not have any more, or whose visits it
 * refuses, is rejected.
 */
export function shlinkHistory({ client, address, identity, now }: ShlinkHistoryOptions): HistorySource {
  async function visitPage({ domain, key }: PastAddress, { visits: page, end }: Position) {
    const query = `page=${page}&itemsPerPage=${VISITS_PER_PAGE}&endDate=${encodeURIComponent(end)}`;
    const ofDomain = domain === null ? '' : `&domain=${encodeURIComponent(domain)}`;
    const answer = await client.getJson(
      `${address}/rest/v3/short-urls/${encodeURIComponent(key)}/visits?${query}${ofDomain}`,
    );
    const visits = isObject(answer) ? answer.visits : undefined;
    return { visits: listIn(visits, 'data'), ...paginationIn(visits, page) };
  }

  const refusals = createRefusals(isOfLink);
  /** Reads a page of visits. @returns the error when they are refused; @throws ImportError for refusals that may pass, and after many in a row */
  async function visitsOrRefusal(of: PastAddress, at: Position) {
    try {
      const page = await visitPage(of, at);
      refusals.answered();
      return page;
    } catch (err) {
      if (!(err instanceof ImportError) || err.status === undefined) throw err;
      return refusals.refused(
        new ImportError(`the source does not return the visits of ${of.key}: ${err.message}`, err.status),
      );
    }
  }

  function addressIn(link: unknown): PastAddress | undefined {
    const key = textIn(link, 'shortCode');
    return key === undefined ? undefined : { domain: textIn(link, 'domain') ?? hostOf(textIn(link, 'shortUrl')), key };
  }

  /** The pages of visits of a link from a position on. @returns the position after them */
  async function* visitsOf(of: PastAddress, from: Position): AsyncGenerator<HistoryPage, Position> {
    let at = from;
    for (let changes = 0; ; ) {
      const page = await visitsOrRefusal(of, at);
      if (page instanceof ImportError) {
        at = { ...at, ...UNREAD, link: at.link + 1, row: at.row + 1 };
        yield { items: [{ row: at.row, record: of, error: page.message }], next: JSON.stringify(at) };
        return at;
      }
      const { visits, isLast, total } = page;
      if (at.total !== undefined && total !== undefined && at.total !== total) {
        if (++changes > CHANGES_MAX) throw new ImportError(`the visits of ${of.key} change while they are read`);
        at = { ...at, ...UNREAD };
        continue;
      }
      let { second } = at;
      let counts: Record<string, number> = { ...at.counts };
      const items = visits.map((record, index) => {
        const date = textIn(record, 'date') ?? '';
        if (date !== second) counts = {};
        second = date;
        const content = contentOf(of, record);
        const ordinal = counts[content] ?? 0;
        counts[content] = ordinal + 1;
        return toItem(at.row + index + 1, record, (visit) => shlinkClick(visit, of, `${content}/${ordinal}`));
      });
      const row = at.row + items.length;
      at =
        isLast || visits.length === 0
          ? { ...at, ...UNREAD, link: at.link + 1, row }
          : { ...at, visits: at.visits + 1, total, row, second, counts };
      yield { items, next: JSON.stringify(at) };
      if (at.visits === 1) return at;
    }
  }

  return {
    identity,
    async *read(from): AsyncGenerator<HistoryPage> {
      const end = new Date(now()).toISOString();
      const start: Position = { ...UNREAD, links: 1, link: 0, row: 0, end };
      let at = positionOf<Position>(from) ?? start;
      const pages = linkPages({ client, address, end: at.end }, { page: at.links, index: at.link, total: at.listed });
      for await (const { page, total, links } of pages) {
        for (const { index, link } of links) {
          const isSame = page === at.links && index === at.link && total === (at.listed ?? total);
          at = { ...at, ...(isSame ? {} : UNREAD), links: page, link: index, listed: total };
          const of = addressIn(link);
          if (of !== undefined) at = yield* visitsOf(of, at);
        }
      }
    },
  };
}

function hostOf(shortUrl: string | undefined): string | null {
  return shortUrl !== undefined && URL.canParse(shortUrl) ? new URL(shortUrl).host : null;
}
