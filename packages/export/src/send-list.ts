import type { ExportFormat, ExportQuery } from '@waymark/contract';
import type { FastifyReply } from 'fastify';
import type { NamedColumn } from './columns.js';
import { createEncoder } from './encoders/create-encoder.js';
import type { Encoder } from './encoders/encoder.js';
import type { ExportSlots } from './export-slots.js';
import type { ExportSource } from './export-source.js';
import { sendFile } from './send-file.js';

/** Media types of the formats, for the documentation of routes. */
export const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

/** An export of a list. */
export interface ListExport<Item> {
  readonly workspaceId: string;
  /** The parameters that the exports of all lists have. */
  readonly query: ExportQuery;
  /** The content of the file, such as `links`; its name begins with this. */
  readonly what: string;
  /** Time of the request, in epoch milliseconds; the name of the file ends with its day. */
  readonly nowMs: number;
  readonly columns: readonly NamedColumn<Item>[];
  readonly source: ExportSource;
  readonly exportSlots: ExportSlots;
}

/** What has been encoded so far, for the trailers. */
interface Progress {
  rows: number;
  lastId: string;
}

async function* bytesOf(source: ExportSource, encoder: Encoder, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const { items, lastId } of source) {
    yield encoder.encode(items);
    progress.rows += items.length;
    progress.lastId = lastId;
  }
  yield* encoder.end();
}

/**
 * Sends the export of a list in the format of the request (docs/reference/exports.md). The trailers have the number of rows and the id of the
 * last one.
 *
 * @throws ApiError 429 when the workspace runs as many exports as it may; what the first slice throws
 */
export async function sendList<Item>(
  reply: FastifyReply,
  { workspaceId, query, what, nowMs, columns, source, exportSlots }: ListExport<Item>,
): Promise<FastifyReply> {
  const { format = 'csv', escapeFormulas: escapesFormulas = true, startingAfter } = query;
  const encoder = createEncoder({ format, columns, escapesFormulas, isContinuation: startingAfter !== undefined });
  const progress: Progress = { rows: 0, lastId: '' };
  const mediaType = MEDIA_TYPES[format];
  return sendFile(reply, {
    name: fileName(what, nowMs, format),
    mediaType: format === 'parquet' ? mediaType : `${mediaType}; charset=utf-8`,
    isCompressed: format === 'parquet',
    bytes: bytesOf(source, encoder, progress),
    trailers: { 'x-export-rows': () => String(progress.rows), 'x-export-last-id': () => progress.lastId },
    slot: exportSlots.take(workspaceId),
  });
}

/** The name of an export's file, with the day of its request: `links-2026-11-25.csv`. */
export function fileName(what: string, nowMs: number, extension: string): string {
  return `${what}-${new Date(nowMs).toISOString().slice(0, 10)}.${extension}`;
}
