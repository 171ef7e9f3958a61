import { withApi } from '../api/api-access.js';
import { CommandError } from '../command-error.js';
import { countsText, type ExportCounts } from '../export/export-counts.js';
import { openFileOutput, standardOutputOf } from '../export/export-output.js';
import { type ExportRequest, exportRequest, recordFormat } from '../export/export-request.js';
import { jobExport } from '../export/job-export.js';
import { type ExportDeps, fetchWhole, streamExport } from '../export/stream-export.js';
import { interruptible } from '../interruptible.js';
import { optionalText, type RawOption } from '../option-values.js';
import { type CommandResult, megabytes, printStatus } from '../output.js';
import { withProgress } from '../progress.js';

/** The parameters of `GET /<resource>/export`, and the options of the command itself. */
export type ExportOptions = Readonly<Record<string, RawOption>>;

/** Makes the export in the way that its format allows. @returns the export job of the server; undefined for a streamed export */
async function run(request: ExportRequest, asJob: boolean, deps: ExportDeps, signal: AbortSignal) {
  const records = recordFormat(request);
  if (!asJob && records !== undefined) await streamExport(request, records, deps);
  else if (!asJob && request.resource === 'analytics') await fetchWhole(request, deps);
  else return jobExport(request, deps, signal);
  return undefined;
}

const SHELL_SAFE = /^[\w./-]+$/;
const quoted = (path: string) => (SHELL_SAFE.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

/** A command that reads the file, as a suggestion for the user. */
function nextStep(format: ExportRequest['format'], path: string): string {
  switch (format) {
    case 'zip':
      return `unzip -l ${quoted(path)}`;
    case 'ndjson':
      return `head -n 1 ${quoted(path)} | jq .`;
    default:
      return `duckdb -c ${quoted(`SUMMARIZE FROM '${path.replaceAll("'", "''")}'`)}${format === 'csv' ? ', or a spreadsheet program' : ''}`;
  }
}

const INTERRUPTED = 'interrupted, the export is not complete; the same command begins it again';

/**
 * Writes an export to a file or to standard output. Continues by itself when it is cut off; a file gets its name only when it is
 * complete.
 *
 * @param name `events`, `links`, `customers` or `analytics`
 */
export async function exportList(name: string, options: ExportOptions): Promise<CommandResult | undefined> {
  const request = exportRequest(name, options);
  const path = options.output === '-' ? undefined : optionalText('output', options.output);
  if (path === undefined && process.stdout.isTTY && (request.format === 'parquet' || request.format === 'zip')) {
    throw new CommandError(`${request.format} is not for a terminal: add --output, or pipe it into a program`);
  }
  const startedMs = performance.now();
  const counts: ExportCounts = { rows: 0, bytes: 0, phase: 'waiting' };
  const job = await interruptible(INTERRUPTED, (signal) =>
    withApi(options, { name: 'Export', scope: 'apis.read', signal }, async (api) => {
      const output = path === undefined ? standardOutputOf(signal) : await openFileOutput(path);
      try {
        const made = await withProgress(
          (seconds) => ({ text: countsText(counts, seconds) }),
          () => run(request, options.job === true, { api, output, counts }, signal),
        );
        signal.throwIfAborted();
        await output.complete();
        signal.throwIfAborted();
        return made;
      } finally {
        await output.discard();
      }
    }),
  );
  const { rows, bytes } = counts;
  const seconds = (performance.now() - startedMs) / 1000;
  const rowsText = request.format === 'zip' ? '' : `${rows.toLocaleString('en')} rows, `;
  const lines = [
    `${path ?? 'standard output'}: ${rowsText}${megabytes(bytes)} in ${seconds.toFixed(1)} s`,
    ...(path === undefined ? [] : [`Next: ${nextStep(request.format, path)}`]),
    ...(job === undefined ? [] : [`The API keeps the file until ${job.expiresAt}: GET /exports/${job.id}`]),
  ];
  if (path !== undefined) return { data: { file: path, rows, bytes, seconds, job: job?.id ?? null }, lines };
  // Standard output contains the export, so the result goes to standard error.
  for (const line of lines) printStatus(line);
  return undefined;
}
