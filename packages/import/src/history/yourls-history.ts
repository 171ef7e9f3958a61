import type { ImportFileFormat } from '@waymark/contract';
import { isBotAgent } from '@waymark/visit';
import { readCsv } from '../files/read-csv.js';
import { readNdjson } from '../files/read-ndjson.js';
import { readYourlsLog } from '../files/read-sql.js';
import { addressOf, fieldsOf } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import { type MapRecord, RowError, type SourceRow } from '../model/source-link.js';
import { textChars } from '../model/text-chars.js';
import type { DomainMap } from '../run/domain-map.js';
import { BOT, positionOf, toItem } from './history-items.js';
import type { HistoryItem, HistoryPage, HistorySource, PastEvent } from './past-event.js';

const ITEMS_PER_PAGE = 1000;
/** Characters of records after which a page is full too, because one record of a file may have millions of characters. */
const PAGE_CHARS_MAX = 8_000_000;

/** The domain of the links of a log, and the part of their keys before the keywords; the log has the keywords only. */
function placeOf(address: string | undefined): { readonly domain: string | null; readonly path: string } {
  if (address === undefined) return { domain: null, path: '' };
  const { domain, key } = addressOf('address', address.replace(/\/[^/]*\.php$/, ''));
  return { domain, path: key === '' || key.endsWith('/') ? key : `${key}/` };
}

/** What decides to which domain links and events go. */
interface LogDomains {
  readonly domains: DomainMap;
  /** The domain of links that name none, and for which none is given. */
  readonly fallbackDomain: string | undefined;
  /** Of the YOURLS installation whose links are imported; undefined for those of a file. */
  readonly address: string | undefined;
}

/**
 * Checks that the links go to the domain of the log's events: these would otherwise be rejected, or go to links of the same keys on another
 * domain.
 *
 * @returns `mapRecord`, which then throws ImportError for a link that goes to another domain
 */
export function mapToDomainOfLog(mapRecord: MapRecord, { domains, fallbackDomain, address }: LogDomains): MapRecord {
  const { domain: ofLog } = placeOf(address);
  const domainOf = (domain: string | null) => domains.domainOf(domain) ?? fallbackDomain;
  return (record, mapping) => {
    const links = mapRecord(record, mapping);
    const other = links.find(({ domain }) => domainOf(domain) !== domainOf(ofLog));
    if (other === undefined) return links;
    const [from, to] = [other.domain ?? 'no domain', ofLog ?? 'no domain'];
    throw new ImportError(
      `the record has a link of ${from}, and the log events of ${to}: name one new domain for both with the option domain`,
    );
  };
}

/** Reads a row of `yourls_log`. @throws RowError for one that cannot become a click */
function yourlsClick(
  record: unknown,
  { domain, path }: ReturnType<typeof placeOf>,
  timezone: string | undefined,
): PastEvent | typeof BOT {
  const fields = fieldsOf(record, timezone);
  const id = fields.required('click_id');
  const time = fields.time('click_time');
  if (time === null) throw new RowError('click_time is missing');
  const key = fields.required('shorturl');
  const userAgent = fields.text('user_agent') ?? '';
  if (userAgent !== '' && isBotAgent(userAgent)) return BOT;
  const referrer = fields.text('referrer');
  return {
    kind: 'click',
    address: { domain, key: `${path}${key}` },
    timeMs: Date.parse(time),
    identity: JSON.stringify([id, time, key]),
    alias: null,
    url: null,
    place: {
      country: fields.text('country_code') ?? undefined,
      region: undefined,
      city: undefined,
      continent: undefined,
    },
    device: null,
    browser: null,
    os: null,
    userAgent,
    referrer: referrer === 'direct' ? null : referrer,
    trigger: 'link',
  };
}

const logFields = (headings: readonly string[]) => headings.map((heading) => heading.trim().toLowerCase());

function rowsOf(format: ImportFileFormat, chunks: AsyncIterable<Uint8Array>): AsyncIterable<SourceRow> {
  if (format === 'sql') return readYourlsLog(chunks);
  return format === 'csv' ? readCsv(chunks, logFields) : readNdjson(chunks);
}

export interface YourlsHistoryOptions {
  readonly format: ImportFileFormat;
  /** Opens the file from its start. */
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly timezone: string | undefined;
  /** Address of the installation, if the links come from its API: their addresses have its domain. */
  readonly address?: string | undefined;
  readonly identity: string;
}

/** Reads the clicks of a YOURLS log: the table `yourls_log` in a dump, or exported as CSV or NDJSON. */
export function yourlsHistory({ format, open, timezone, address, identity }: YourlsHistoryOptions): HistorySource {
  const place = placeOf(address);
  return {
    identity,
    timezone,
    async *read(from): AsyncGenerator<HistoryPage> {
      const done = positionOf<{ readonly rows: number }>(from)?.rows ?? 0;
      let rows = 0;
      let items: HistoryItem[] = [];
      let chars = 0;
      for await (const { row, record, error } of rowsOf(format, open())) {
        rows++;
        if (rows <= done) continue;
        items.push(
          error === undefined
            ? toItem(row, record, (one) => yourlsClick(one, place, timezone))
            : { row, record, error },
        );
        chars += textChars(record);
        if (items.length < ITEMS_PER_PAGE && chars < PAGE_CHARS_MAX) continue;
        yield { items, next: JSON.stringify({ rows }) };
        items = [];
        chars = 0;
      }
      if (items.length > 0) yield { items, next: JSON.stringify({ rows }) };
    },
  };
}
