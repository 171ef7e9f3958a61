import { IMPORT_SOURCES, type ImportSource } from '@waymark/contract';
import {
  type DomainMap,
  isTimezone,
  ON_CONFLICT,
  parseDomainMap,
  type ImportOptions as RunOptions,
} from '@waymark/import';
import { CommandError } from '../command-error.js';
import { choiceOption, oneOf, optionalText, type RawOption, requiredText, textList } from '../option-values.js';

/** The options of `waymark import` as they were typed. */
export interface RawImportOptions {
  readonly workspace?: RawOption;
  readonly domain?: RawOption;
  readonly dryRun?: boolean;
  readonly tags?: RawOption;
  readonly history?: RawOption;
  readonly onConflict?: RawOption;
  readonly timezone?: RawOption;
  readonly report?: RawOption;
  readonly sourceWorkspace?: RawOption;
  readonly log?: RawOption;
}

const HISTORIES = ['none', 'counts', 'events'] as const;
/** Sources whose events can be imported. */
const WITH_EVENTS: readonly ImportSource[] = ['dub', 'yourls', 'shlink'];
/** The only separator of the lists here, because names of tags contain spaces. */
const COMMA = /,/;

/** The source with that name. @throws CommandError */
export function sourceOf(name: string): ImportSource {
  return oneOf(IMPORT_SOURCES, name, `there is no source "${name}"; sources are:`);
}

function historyOf(value: RawOption, source: ImportSource): (typeof HISTORIES)[number] {
  const history = choiceOption('history', value, HISTORIES, 'none');
  if (history === 'events' && !WITH_EVENTS.includes(source)) {
    throw new CommandError(`--history events is possible for ${WITH_EVENTS.join(', ')}; ${source} has counts only`);
  }
  return history;
}

function timezoneOf(value: RawOption, source: ImportSource): string | undefined {
  const timezone = optionalText('timezone', value);
  if (timezone === undefined) {
    if (source === 'yourls') throw new CommandError('--timezone is required: YOURLS writes times without their zone');
    return undefined;
  }
  if (!isTimezone(timezone)) throw new CommandError('--timezone must be a zone such as Europe/Berlin, or UTC');
  return timezone;
}

/** The options of `waymark import` after their check. */
export interface ImportOptions extends Pick<RunOptions, 'isDry' | 'tags' | 'history' | 'onConflict'> {
  readonly workspace: string;
  readonly domains: DomainMap;
  readonly timezone: string | undefined;
  /** Path and first part of the names of the report files. */
  readonly reportPrefix: string;
  /** Id of the workspace at Rebrandly. */
  readonly account: string | undefined;
  /** Path of the file with the table `yourls_log`. */
  readonly log: string | undefined;
}

/** Checks the options of `waymark import`. @throws CommandError or ImportError */
export function importOptions(source: ImportSource, options: RawImportOptions): ImportOptions {
  return {
    workspace: requiredText('workspace', options.workspace),
    domains: parseDomainMap(textList('domain', options.domain, COMMA) ?? []),
    isDry: options.dryRun === true,
    tags: textList('tags', options.tags, COMMA) ?? [],
    history: historyOf(options.history, source),
    onConflict: choiceOption('on-conflict', options.onConflict, ON_CONFLICT, 'skip'),
    timezone: timezoneOf(options.timezone, source),
    reportPrefix: optionalText('report', options.report) ?? `import-${source}`,
    account: optionalText('source-workspace', options.sourceWorkspace),
    log: optionalText('log', options.log),
  };
}
