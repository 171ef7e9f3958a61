import { createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import {
  type ApiSourceOptions,
  fileFormat,
  ImportError,
  importLinks,
  type OpenSource,
  openApi,
  openFile,
  type Source,
} from '@waymark/import';
import { createOutbound, type Outbound } from '@waymark/outbound';
import { CommandError } from '../command-error.js';
import { readCredential } from '../import/credential.js';
import { importHistory, openHistory } from '../import/event-history.js';
import { importOptions, type RawImportOptions, sourceOf } from '../import/import-options.js';
import { countsText, createReportFiles, eventCountsText } from '../import/report-files.js';
import { type CommandResult, printStatus } from '../output.js';
import { findTarget, withCatalog } from '../stores.js';
import { findWorkspace } from './workspace.js';

/** Maximum number of cached records of each type: low, because an import reads each link only once. */
const CACHED_MAX = 2_000;
/** Waits of at least this length are reported on standard error. */
const LONG_WAIT_MS = 5_000;

function isAddress(location: string | undefined): boolean {
  return location === undefined || /^https?:\/\//i.test(location);
}

/** Opens a file, or standard input for `-`. @throws CommandError when the file cannot be read */
async function openLocation(source: Source, location: string): Promise<OpenSource> {
  if (location === '-') return openFile(source, 'csv', process.stdin);
  await access(location).catch(() => {
    throw new CommandError(`the file ${location} cannot be read`);
  });
  if ((await stat(location)).isDirectory()) throw new CommandError(`${location} is a folder, not a file`);
  return openFile(source, fileFormat(location), createReadStream(location));
}

interface ApiRequest {
  readonly source: Source;
  readonly location: string | undefined;
  readonly credential: string;
  readonly account: string | undefined;
  readonly readsCounts: boolean;
}

function apiOptions({ location, ...request }: ApiRequest, outbound: Outbound): ApiSourceOptions {
  const wait = async (ms: number) => {
    if (ms >= LONG_WAIT_MS) printStatus(`${request.source} asks to wait ${Math.ceil(ms / 1000)} seconds`);
    // The connections to the stores keep the process running, until it is interrupted.
    await delay(ms, undefined, { ref: false });
  };
  return { ...request, address: location, outbound, wait, now: Date.now };
}

/** Creates the links of another system, from a file or from its API, in a workspace. A run that ended early can be repeated. */
export async function importSource(
  sourceName: string,
  location: string | undefined,
  raw: RawImportOptions,
): Promise<CommandResult> {
  const source = sourceOf(sourceName);
  // V8 would otherwise let the garbage of a long import grow to hundreds of megabytes before it collects it.
  setFlagsFromString('--optimize-for-size');
  const options = importOptions(source, raw);
  const { settings } = findTarget();
  const isApi = isAddress(location);
  if (isApi && source === 'csv') throw new CommandError('csv needs a file, or - for standard input');
  const credential = isApi ? await readCredential(settings.importCredential, source) : '';
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
  const isTable = !isApi && (location === '-' || fileFormat(location ?? '') === 'csv');
  const files = createReportFiles(options.reportPrefix, isTable, isApi ? undefined : location);
  let failure: ImportError | undefined;
  try {
    const { counts, events } = await withCatalog(async (catalog, stores) => {
      const workspace = await findWorkspace(catalog, options.workspace);
      const { account, history, timezone } = options;
      const api = apiOptions({ source, location, credential, account, readsCounts: history === 'counts' }, outbound);
      const past =
        history === 'events' ? await openHistory(options, source, isApi ? api : (location ?? '-')) : undefined;
      const opened = isApi ? await openApi(api) : await openLocation(source, location ?? '-');
      const ofLinks = await importLinks(opened.rows, {
        ...options,
        deps: { catalog, defaultDomain: settings.defaultDomain, now: Date.now },
        author: { workspace, apiKey: { role: 'owner', scopes: [], userId: null } },
        source,
        mapRecord: opened.mapRecord,
        mapping: { timezone, ...(opened.folderNames && { folderNames: opened.folderNames }) },
        report: files.report,
      });
      const run = { source, catalog, stores, workspace, settings };
      return { counts: ofLinks, events: past && (await importHistory(past, options, run)) };
    }, CACHED_MAX);
    const reports = [...(await files.close(true)), ...(events?.reports ?? [])];
    const begin = options.isDry ? 'would be: ' : '';
    return {
      data: { source, dryRun: options.isDry, ...counts, ...(events && { events: events.counts }), reports },
      lines: [
        `${begin}${countsText(counts)}`,
        ...(events ? [`${begin}${eventCountsText(events.counts)}`] : []),
        ...reports.map(({ path, rows }) => `${path}: ${rows} rows`),
      ],
      failed: counts.rejected + (events?.counts.rejected ?? 0) > 0,
    };
  } catch (err) {
    if (err instanceof ImportError) failure = err;
    await files.close(false);
    throw failure === undefined ? err : new CommandError(failure.message);
  } finally {
    outbound.close();
  }
}
