import { createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import type { Settings } from '@waymark/config';
import type { ImportSource } from '@waymark/contract';
import {
  type ApiSourceOptions,
  type EventCounts,
  fileFormat,
  type ImportCounts,
  importLinks,
  mapToDomainOfLog,
  type OpenSource,
  openApi,
  openFile,
} from '@waymark/import';
import { createOutbound, type Outbound } from '@waymark/outbound';
import { CommandError } from '../command-error.js';
import { readCredential } from '../import/credential.js';
import { addressOf, importHistory, openHistory } from '../import/event-history.js';
import { type ImportOptions, importOptions, type RawImportOptions, sourceOf } from '../import/import-options.js';
import { countsText, eventCountsText, type Reported, withLinkReport } from '../import/report-files.js';
import { type CommandResult, printStatus } from '../output.js';
import { findTarget, withCatalog } from '../stores.js';
import { findWorkspace } from './workspace.js';

/** Maximum number of cached records of each type: low, because an import reads each link only once. */
const CACHED_MAX = 2_000;
/** Waits of at least this length are reported on standard error. */
const LONG_WAIT_MS = 5_000;

/** What an import reads: the path of a file, `-` for standard input, or an API. */
type Place = string | ApiSourceOptions;

/** @throws CommandError for an API that does not exist, or without its key */
async function placeOf(
  source: ImportSource,
  location: string | undefined,
  { account, history }: ImportOptions,
  { importCredential }: Settings,
  outbound: Outbound,
): Promise<Place> {
  if (location !== undefined && !/^https?:\/\//i.test(location)) return location;
  if (source === 'csv') throw new CommandError('csv needs a file, or - for standard input');
  const wait = async (ms: number) => {
    if (ms >= LONG_WAIT_MS) printStatus(`waiting ${Math.ceil(ms / 1000)} seconds, as ${source} requires`);
    // The connections to the stores keep the process running, until it is interrupted.
    await delay(ms, undefined, { ref: false });
  };
  const credential = await readCredential(importCredential, source);
  return {
    source,
    address: location,
    credential,
    account,
    readsCounts: history === 'counts',
    outbound,
    wait,
    now: Date.now,
  };
}

/** Opens a file, or standard input for `-`. @throws CommandError when the file cannot be read */
async function openPath(source: ImportSource, location: string): Promise<OpenSource> {
  if (location === '-') return openFile(source, 'csv', process.stdin);
  await access(location).catch(() => {
    throw new CommandError(`the file ${location} cannot be read`);
  });
  if ((await stat(location)).isDirectory()) throw new CommandError(`${location} is a folder, not a file`);
  return openFile(source, fileFormat(location), createReadStream(location));
}

/** The counts of an import. */
interface Imported {
  readonly links: Reported<ImportCounts>;
  /** Undefined without `--history events`. */
  readonly events: Reported<EventCounts> | undefined;
}

/** Imports the links, then the events if they are wanted. */
function importAll(source: ImportSource, place: Place, options: ImportOptions, settings: Settings): Promise<Imported> {
  const isFile = typeof place === 'string';
  return withCatalog(async (catalog, stores) => {
    const workspace = await findWorkspace(catalog, options.workspace);
    const past = options.history === 'events' ? await openHistory(options, source, place) : undefined;
    const hasLog = past !== undefined && source === 'yourls';
    const fallbackDomain = (await catalog.domains.primary(workspace.id))?.slug ?? settings.defaultDomain;
    const { rows, mapRecord, folderNames } = await (isFile ? openPath(source, place) : openApi(place));
    const files = {
      prefix: options.reportPrefix,
      isTable: isFile && (place === '-' || fileFormat(place) === 'csv'),
      sourcePath: isFile ? place : undefined,
    };
    const links = await withLinkReport(files, (report) =>
      importLinks(rows, {
        ...options,
        deps: { catalog, defaultDomain: settings.defaultDomain, now: Date.now },
        author: { workspace, apiKey: { role: 'owner', scopes: [], userId: null } },
        source,
        mapRecord: hasLog
          ? mapToDomainOfLog(mapRecord, { domains: options.domains, fallbackDomain, address: addressOf(place) })
          : mapRecord,
        report,
        mapping: { timezone: options.timezone, ...(folderNames && { folderNames }) },
      }),
    );
    const run = { source, catalog, stores, workspace, settings };
    return { links, events: past && (await importHistory(past, options, run)) };
  }, CACHED_MAX);
}

function resultOf(source: ImportSource, isDry: boolean, { links, events }: Imported): CommandResult {
  const reports = [...links.reports, ...(events?.reports ?? [])];
  const begin = isDry ? 'would be: ' : '';
  return {
    data: { source, dryRun: isDry, ...links.counts, ...(events && { events: events.counts }), reports },
    lines: [
      `${begin}${countsText(links.counts)}`,
      ...(events ? [`${begin}${eventCountsText(events.counts)}`] : []),
      ...reports.map(({ path, rows }) => `${path}: ${rows} rows`),
    ],
    failed: links.counts.rejected + (events?.counts.rejected ?? 0) > 0,
  };
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
  const outbound = createOutbound({ allowedRanges: settings.outboundAllowedRanges });
  try {
    const place = await placeOf(source, location, options, settings, outbound);
    return resultOf(source, options.isDry, await importAll(source, place, options, settings));
  } finally {
    outbound.close();
  }
}
