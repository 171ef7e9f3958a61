import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Catalog, WorkspaceRecord } from '@waymark/catalog';
import type { Settings } from '@waymark/config';
import type { ImportSource } from '@waymark/contract';
import {
  type ApiSourceOptions,
  type EventCounts,
  fileFormat,
  type HistorySource,
  ImportError,
  importEvents,
  openApiHistory,
  openFileHistory,
} from '@waymark/import';
import { CommandError } from '../command-error.js';
import { interruptible } from '../interruptible.js';
import { printStatus } from '../output.js';
import type { OpenStores } from '../stores.js';
import type { ImportOptions } from './import-options.js';
import { type Reported, withEventReport } from './report-files.js';

/**
 * Opens the history in a file. A file that has changed counts as another one, which is read from its start.
 *
 * @throws CommandError or ImportError
 */
async function openLog(
  source: ImportSource,
  path: string,
  timezone: string | undefined,
  address: string | undefined,
): Promise<HistorySource> {
  const found = await stat(path).catch(() => {
    throw new CommandError(`the file ${path} cannot be read`);
  });
  const name = JSON.stringify([path, found.size, found.mtimeMs]);
  return openFileHistory({
    source,
    format: fileFormat(path),
    name,
    timezone,
    address,
    open: () => createReadStream(path),
  });
}

/** The address of the API that the links come from; undefined for a file. */
export function addressOf(location: string | ApiSourceOptions): string | undefined {
  return typeof location === 'string' ? undefined : location.address;
}

/** Opens the history for `--history events`: the file `--log`, or else the source of the links. @throws CommandError or ImportError */
export function openHistory(
  { log, timezone }: Pick<ImportOptions, 'log' | 'timezone'>,
  source: ImportSource,
  location: string | ApiSourceOptions,
): Promise<HistorySource> {
  const path = log ?? (typeof location === 'string' ? location : undefined);
  if (path === '-') throw new CommandError('events need a file that can be read twice, not standard input');
  if (path !== undefined) return openLog(source, path, timezone, addressOf(location));
  return Promise.resolve(openApiHistory(location as ApiSourceOptions));
}

const CONTINUES = 'Run the same command again: it continues where it was';

/** Adds to an unexpected error that the same command continues the import. */
function explained(err: unknown): unknown {
  if (err instanceof CommandError || err instanceof ImportError || !(err instanceof Error)) return err;
  return new CommandError(`the import of events has stopped (${err.message.replace(/\.$/, '')}). ${CONTINUES}`);
}

/** Imports the events of a source, whose links were imported before. @throws ImportError or CommandError */
export async function importHistory(
  history: HistorySource,
  options: ImportOptions,
  run: {
    readonly source: ImportSource;
    readonly catalog: Catalog;
    readonly stores: OpenStores;
    readonly workspace: WorkspaceRecord;
    readonly settings: Settings;
  },
): Promise<Reported<EventCounts>> {
  const { source, catalog, stores, workspace, settings } = run;
  const warn = (_context: object, message: string) => printStatus(message);
  try {
    return await withEventReport(options.reportPrefix, (report) =>
      interruptible(`interrupted. ${CONTINUES}`, (signal) =>
        importEvents(history, {
          deps: { catalog, defaultDomain: settings.defaultDomain, now: Date.now },
          stores: {
            ...stores,
            waitReplicas: settings.redisWaitReplicas,
            cluster: settings.clickhouseCluster,
            waitsForQuorum: settings.clickhouseEventsQuorum,
          },
          workspace,
          source,
          domains: options.domains,
          isDry: options.isDry,
          report,
          signal,
          retentionDays: settings.eventRetentionDays,
          logger: { debug: () => undefined, info: () => undefined, warn, error: warn },
        }),
      ),
    );
  } catch (err) {
    throw explained(err);
  }
}
