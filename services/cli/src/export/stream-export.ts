import { parse } from 'csv-parse/sync';
import { type ApiRequests, type ApiResponse, TemporaryError } from '../api/api-requests.js';
import { createRecordSplitter, type RecordFormat } from './complete-records.js';
import type { ExportCounts } from './export-counts.js';
import type { ExportOutput } from './export-output.js';
import { type ExportRequest, idColumn } from './export-request.js';

/** What an export reads from, writes to, and reports to. */
export interface ExportDeps {
  readonly api: ApiRequests;
  readonly output: ExportOutput;
  readonly counts: ExportCounts;
}

/** Parameters of the time range, which the fixed range of the first response replaces. */
const RANGE_PARAMETERS = ['interval', 'start', 'end'];

/** The parameters with the time range of a response, so that a repeat has the same range. */
function withRange(parameters: Readonly<Record<string, string>>, { headers }: ApiResponse): Record<string, string> {
  const range = headers['x-export-range'];
  if (range === undefined) return { ...parameters };
  const others = Object.entries(parameters).filter(([name]) => !RANGE_PARAMETERS.includes(name));
  return { ...Object.fromEntries(others), ...Object.fromEntries(new URLSearchParams(String(range))) };
}

const fieldsOf = (record: Buffer) => (parse(record) as string[][])[0] ?? [];

/** Reads the ids of records. CSV needs the header first. */
function createIdReader(request: ExportRequest, format: RecordFormat) {
  let column = -1;
  return {
    readHeader(record: Buffer) {
      column = fieldsOf(record).indexOf(idColumn(request));
    },
    idOf(record: Buffer): string | undefined {
      if (format === 'csv') return fieldsOf(record)[column];
      const item = JSON.parse(record.toString()) as { id?: string; eventId?: string; click?: { id: string } };
      return item.eventId ?? item.click?.id ?? item.id;
    },
  };
}

/**
 * Writes the response of an export of records. Continues after the last complete record when the response is cut off, with the range of
 * the first response, so that the output is that of one response.
 */
export async function streamExport(request: ExportRequest, format: RecordFormat, deps: ExportDeps): Promise<void> {
  const { api, output, counts } = deps;
  const ids = createIdReader(request, format);
  let parameters: Record<string, string> = { ...request.parameters };
  let last: Buffer | undefined;
  let hasHeader = format !== 'csv';

  await api.untilDone(async (progressed) => {
    const startingAfter = last === undefined ? undefined : ids.idOf(last);
    const search = new URLSearchParams({ ...parameters, ...(startingAfter !== undefined && { startingAfter }) });
    const response = await api.send({ path: `/${request.resource}/export?${search}` });
    if (startingAfter === undefined) parameters = withRange(parameters, response);
    counts.phase = 'exporting';
    const splitter = createRecordSplitter(format);
    let beginsWithHeader = format === 'csv' && startingAfter === undefined;
    let rows = 0;
    for await (const chunk of response.body) {
      const records = splitter.push(chunk);
      if (records.count === 0) continue;
      let { bytes, count } = records;
      if (beginsWithHeader) {
        const end = bytes.indexOf('\n') + 1;
        ids.readHeader(bytes.subarray(0, end));
        // A response that was cut off after its header may have been written already.
        if (hasHeader) bytes = bytes.subarray(end);
        [beginsWithHeader, hasHeader] = [false, true];
        count -= 1;
      }
      await output.write(bytes);
      progressed();
      if (count > 0) last = records.last;
      rows += count;
      counts.rows += count;
      counts.bytes += bytes.length;
    }
    const { 'x-export-rows': expected } = response.trailers;
    // Checks the number of rows, because a proxy may end a response normally although the rest of it is missing.
    if (splitter.isComplete() && (expected === undefined || Number(expected) === rows)) return;
    throw new TemporaryError('the response is not complete');
  });
}

/** Writes a response that cannot be continued, once all of it has arrived. */
export async function fetchWhole(request: ExportRequest, { api, output, counts }: ExportDeps): Promise<void> {
  const path = `/${request.resource}/export?${new URLSearchParams(request.parameters)}`;
  const parts = await api.untilDone(async (progressed) => {
    const { body } = await api.send({ path });
    counts.phase = 'exporting';
    const arrived: Buffer[] = [];
    for await (const part of body) arrived.push(part);
    progressed();
    return arrived;
  });
  for (const part of parts) {
    await output.write(part);
    counts.bytes += part.length;
  }
}
