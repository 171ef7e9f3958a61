import { createHash } from 'node:crypto';
import type { LinkRecord } from '@waymark/catalog';
import {
  cutText,
  derivedEventId,
  exceededJsonSize,
  type ImportSource,
  METADATA_CHARS_MAX,
  METADATA_PAIRS_BYTES_MAX,
  metadataFault,
  metadataPairsBytes,
  parseResourceId,
  URL_CHARS_MAX,
  withoutWww,
} from '@waymark/contract';
import { clickRow, type EventRow, leadRow, saleRow } from '@waymark/event-format';
import type { ClickAlias, PastRow } from '@waymark/event-queue';
import { createAgentReader, DIRECT, readReferer, toPlace } from '@waymark/visit';
import { asJson } from '../model/as-json.js';
import { RowError } from '../model/source-link.js';
import { textChars } from '../model/text-chars.js';
import type { PastClick, PastEvent } from './past-event.js';

/** As for clicks that are recorded. */
const AGENT_CHARS_MAX = 1024;
const WORD_CHARS_MAX = 100;
const EVENT_NAME_CHARS_MAX = 255;
const INVOICE_CHARS_MAX = 255;
const AMOUNT_MAX = 1e15;
/** As deep as in a request. The number of values is limited by that of characters. */
const METADATA_SIZE = { levels: 100, values: METADATA_CHARS_MAX };

/** A lead or a sale of the source. */
export type PastConversionEvent = Extract<PastEvent, { kind: 'lead' | 'sale' }>;

/** About the characters of an event in memory, with those of its row. */
export function eventChars(event: PastEvent): number {
  const metadata = 'metadata' in event ? event.metadata : null;
  return textChars(event) + (metadata === null ? 0 : metadataPairsBytes(metadata, METADATA_PAIRS_BYTES_MAX));
}

/** The referrer columns of a click. Some sources have only the host of the referrer, which is stored in place of its URL. */
function refererOf(referrer: string | null) {
  if (referrer === null) return readReferer(undefined);
  const read = readReferer(referrer);
  const isHost = read.referer === DIRECT && /^[\w.-]+$/.test(referrer);
  return isHost ? { referer: withoutWww(referrer), refererUrl: referrer } : read;
}

/** Checks a conversion by the rules of `/track`. @throws RowError */
export function checkConversion(event: PastConversionEvent): void {
  if (event.eventName.length > EVENT_NAME_CHARS_MAX)
    throw new RowError(`eventName has more than ${EVENT_NAME_CHARS_MAX} characters`);
  const metadata = asJson(event.metadata);
  if (metadata === undefined || exceededJsonSize(metadata, METADATA_SIZE) === 'levels')
    throw new RowError('metadata is nested too deeply');
  const fault = event.metadata === null ? undefined : metadataFault(event.metadata, metadata);
  if (fault !== undefined) throw new RowError(`metadata ${fault.message}`);
  if (event.kind === 'lead') return;
  if ((event.invoiceId?.length ?? 0) > INVOICE_CHARS_MAX)
    throw new RowError(`invoiceId has more than ${INVOICE_CHARS_MAX} characters`);
  if (event.amount > AMOUNT_MAX) throw new RowError('sale.amount is too large');
  if (!/^[a-z]{3}$/.test(event.currency)) throw new RowError('sale.currency must be a code such as usd');
}

/**
 * Makes the rows of past events of one workspace. The same event gets the same id in each import.
 *
 * @param workspaceNumber `UInt64` as text
 */
export function createPastRows(workspaceNumber: string, source: ImportSource) {
  const readAgent = createAgentReader();

  function idOf(kind: string, identity: string, timeMs: number): string {
    const text = JSON.stringify([source, workspaceNumber, kind, identity]);
    return derivedEventId(timeMs, createHash('sha256').update(text).digest());
  }

  const clickIdOf = ({ identity, timeMs }: PastClick) => idOf('click', identity, timeMs);

  function click(past: PastClick, link: LinkRecord): EventRow {
    const agent = readAgent(past.userAgent);
    const { country, region, city, continent } = toPlace(past.place);
    const word = (value: string | null, usual: string) => (value === null ? usual : cutText(value, WORD_CHARS_MAX));
    return clickRow({
      workspaceId: workspaceNumber,
      linkId: parseResourceId('link', link.id) ?? '0',
      clickId: clickIdOf(past),
      timestampMs: past.timeMs,
      trigger: past.trigger,
      url: cutText(past.url ?? link.url, URL_CHARS_MAX),
      country,
      region,
      city,
      continent,
      device: word(past.device, agent.device),
      browser: word(past.browser, agent.browser),
      os: word(past.os, agent.os),
      userAgent: cutText(past.userAgent, AGENT_CHARS_MAX),
      ...refererOf(past.referrer),
      // Addresses of visitors are not imported: the source may have kept them longer than this installation would.
      ip: '',
    });
  }

  return {
    clickIdOf,
    click,

    aliasOf: (past: PastClick): ClickAlias | undefined =>
      past.alias === null ? undefined : { alias: past.alias, clickId: clickIdOf(past), clickedAtMs: past.timeMs },

    /** The row of a lead or sale. @param click row of its click; @param isFirst whether a sale is the customer's first on the link */
    conversion(event: PastConversionEvent, click: EventRow, customerId: string, isFirst: boolean): PastRow {
      const { kind, eventName, metadata, timeMs } = event;
      const fields = {
        eventId: idOf(kind, event.identity, timeMs),
        eventName,
        timestampMs: timeMs,
        metadata,
        customerId: parseResourceId('customer', customerId) ?? '0',
      };
      if (event.kind === 'lead') return { kind: 'lead', row: leadRow(click, fields) };
      const { amount, currency, invoiceId, paymentProcessor } = event;
      const saleType = isFirst ? 'new' : 'recurring';
      return {
        kind: 'sale',
        row: saleRow(click, { ...fields, amount, currency, invoiceId, paymentProcessor, saleType }),
      };
    },

    eventIdOf: ({ kind, identity, timeMs }: PastConversionEvent) => idOf(kind, identity, timeMs),
  };
}
export type PastRows = ReturnType<typeof createPastRows>;
