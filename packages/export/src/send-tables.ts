import { setImmediate as immediate } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { Zip, ZipDeflate } from 'fflate';
import { csvTable } from './encoders/csv.js';
import type { ExportSlots } from './export-slots.js';
import { sendFile } from './send-file.js';
import { fileName } from './send-list.js';

/** A small table, as one CSV file of an archive. */
export interface Table {
  /** Name of the file without extension. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** An export of several tables. */
export interface TablesExport {
  readonly workspaceId: string;
  /** The name of the archive begins with it. */
  readonly what: string;
  /** Time of the request, in epoch milliseconds. */
  readonly nowMs: number;
  readonly escapesFormulas: boolean;
  readonly tables: AsyncIterable<Table>;
  readonly exportSlots: ExportSlots;
}

const DAY_MS = 24 * 3_600_000;
const NOTHING = new Uint8Array();

/** The bytes of a zip archive with a CSV file for each table. */
export async function* archiveOf({
  tables,
  escapesFormulas,
  nowMs,
}: Pick<TablesExport, 'tables' | 'escapesFormulas' | 'nowMs'>): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const zip = new Zip((err, chunk) => {
    if (err !== null) throw err;
    chunks.push(chunk);
  });
  for await (const { name, columns, rows } of tables) {
    const file = new ZipDeflate(`${name}.csv`);
    // Only the day, so that the same tables give the same bytes all day.
    file.mtime = nowMs - (nowMs % DAY_MS);
    zip.add(file);
    for (const part of csvTable(columns, rows, escapesFormulas)) {
      file.push(part);
      yield* chunks.splice(0);
      await immediate();
    }
    file.push(NOTHING, true);
    yield* chunks.splice(0);
  }
  zip.end();
  yield* chunks;
}

/**
 * Sends tables as a zip archive of CSV files, each as soon as it is read.
 *
 * @throws ApiError 429 when the workspace runs as many exports as it may; what the first table throws
 */
export async function sendTables(
  reply: FastifyReply,
  { workspaceId, what, exportSlots, ...archive }: TablesExport,
): Promise<FastifyReply> {
  return sendFile(reply, {
    name: fileName(what, archive.nowMs, 'zip'),
    mediaType: 'application/zip',
    isCompressed: true,
    bytes: archiveOf(archive),
    trailers: {},
    slot: exportSlots.take(workspaceId),
  });
}
