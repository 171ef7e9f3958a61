import { readdirSync, rmSync } from 'node:fs';
import { keepUtm, mergeUtm, prefixedKey } from '@waymark/catalog';
import { trimCharacter, trimEndCharacter, URL_CHARS_MAX } from '@waymark/contract';
import { parseInstant, parseMultiValue } from '@waymark/event-query';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { finalDestination, redirectTarget } from '../../services/ingest/src/redirect/address/final-url.js';
import { readShortAddress } from '../../services/ingest/src/redirect/address/short-address.js';
import { readCookie } from '../../services/ingest/src/redirect/cookies.js';
import { pageTags } from '../../services/management/src/metatags/page-tags.js';
import { cpuMsOf } from './lib/cpu-cost.js';
import { HOSTILE_TEXTS, SHORT_HOSTILE_TEXTS } from './lib/hostile-texts.js';
import { textParsers } from './lib/text-parsers.js';

// Parsers run on the main thread. All are tested with texts of 100,000 characters, also those that are called
// after a length check, and with short ones, because those with a bound of their own return at once for long ones.
// New ones are found through their exports.

const CPU_MS_MAX = 50;
/** For short texts; 51 requests with such a text may come in one packet. */
const CPU_MS_MAX_A_THOUSAND = 2;
const RUNS_BY_CLOCK = 20;
vi.setConfig({ testTimeout: 120_000 });

/** Functions whose text is a path, a name on this machine or an address of a store; no text from a request reaches them. */
const NAMES_OF_THIS_MACHINE: ReadonlySet<string> = new Set([
  'packages/clickhouse-embedded/src/access.ts writeAccess',
  'packages/clickhouse-embedded/src/engine/deduplication-log.ts repairDeduplicationLogs',
  'packages/clickhouse/src/clickhouse-address.ts parseClickHouseAddress',
  'packages/clickhouse/src/migrations/migration-files.ts readMigrationFiles',
  'packages/config/src/data-dir-lock.ts lockDataDir',
  'packages/config/src/restored-mark.ts partialRestore',
  'packages/config/src/restored-mark.ts readRestoredMark',
  'packages/config/src/restored-mark.ts removeRestoredMark',
  'packages/config/src/run-state.ts isQueueKnownEmpty',
  'packages/config/src/run-state.ts markQueueEmpty',
  'packages/config/src/run-state.ts readRunState',
  'packages/config/src/run-state.ts removeRunState',
  'packages/config/src/run-state.ts unmarkQueue',
  'packages/config/src/describe-settings.ts maskUrl',
  'packages/config/src/store-sockets.ts prepareStoreSockets',
  'packages/event-queue/src/spool/directory-id.ts readDirectoryId',
  'packages/jobs/src/attempt-files.ts bytesByJob',
  'packages/jobs/src/attempt-files.ts readCheckpoint',
  'packages/jobs/src/attempt-files.ts sizeOf',
  'packages/jobs/src/attempt-files.ts syncDirectory',
  'packages/test-kit/src/stores/given-redis.ts emptyGivenRedis',
  'packages/test-kit/src/stores/migrated-store.ts makeMigratedStore',
  'packages/test-kit/src/stores/temporary-directory.ts temporaryDirectory',
  'packages/visit/src/geo-database.ts openGeoDatabase',
  'services/cli/src/backup/data-files.ts hasData',
  'services/cli/src/backup/data-files.ts listData',
  'services/cli/src/export/export-output.ts openFileOutput',
  'services/standalone/src/data-dir/create-data-dir.ts createDataDir',
  'services/standalone/src/data-dir/log-files.ts shortenLogs',
  'services/standalone/src/first-key.ts findFirstKey',
  'services/standalone/src/first-key.ts removeFirstKey',
]);

/** Where the functions run: one that takes its text for a path and writes there is found by what it leaves. */
const directory = temporaryDirectory('waymark-hostile-');
const before = process.cwd();
beforeAll(() => process.chdir(directory));
afterAll(() => {
  process.chdir(before);
  rmSync(directory, { recursive: true, force: true });
});

/** Functions that need a page: they run in the browsers of visitors. Their expressions are tested with all others. */
const OF_PAGES = 'packages/browser-script/src/page/';

/** How long a parser may take for a text. */
function allowedMs(text: string): number {
  return Math.min(CPU_MS_MAX, CPU_MS_MAX_A_THOUSAND * Math.max(1, text.length / 1000));
}

/** The texts for which a parser is slow, in every repeated run. */
function slowTexts(
  parse: (text: string) => unknown,
  texts: readonly string[] = [...HOSTILE_TEXTS, ...SHORT_HOSTILE_TEXTS],
): { readonly text: string; readonly chars: number; readonly cpuMs?: number }[] {
  const run = (text: string) => {
    try {
      const result = parse(text);
      // Some are asynchronous; their waiting time does not count.
      if (result instanceof Promise) result.catch(() => {});
    } catch {
      // It may reject the text.
    }
  };
  const clockMs = (text: string) => {
    const startedMs = performance.now();
    run(text);
    return performance.now() - startedMs;
  };
  return texts.flatMap((text) => {
    const allowed = allowedMs(text);
    // A run that was fast by the clock is fast.
    for (let runs = 0; runs < RUNS_BY_CLOCK; runs++) if (clockMs(text) <= allowed) return [];
    // Starting the measurement of the CPU time takes a millisecond itself.
    if (allowed < CPU_MS_MAX) return [{ text: text.slice(0, 30), chars: text.length }];
    const cpuMs = cpuMsOf(() => run(text), allowed);
    return cpuMs > allowed ? [{ text: text.slice(0, 30), chars: text.length, cpuMs }] : [];
  });
}

describe('every exported function with one text parameter is fast', () => {
  const parsers = textParsers();

  const tested = parsers.filter(({ name }) => !NAMES_OF_THIS_MACHINE.has(name) && !name.startsWith(OF_PAGES));
  it.each(tested)('$name', async ({ load }) => {
    expect(slowTexts(await load())).toEqual([]);
  });

  it('none of them has written a file', () => {
    expect(readdirSync(directory)).toEqual([]);
  });

  it('the exceptions exist', () => {
    const names = new Set(parsers.map(({ name }) => name));
    expect([...NAMES_OF_THIS_MACHINE].filter((name) => !names.has(name))).toEqual([]);
  });
});

const NO_UTM = { utm_source: null, utm_medium: null, utm_campaign: null, utm_term: null, utm_content: null };
const PAGE = 'https://a.test/';
const VISIT_BYTES_MAX = 16 * 1024;

describe('every parser with further parameters is fast', () => {
  it.each<readonly [string, (text: string) => unknown]>([
    ['mergeUtm', (text) => mergeUtm(text, { utm_source: 'x' })],
    ['keepUtm', (text) => keepUtm(text, { ...NO_UTM, utm_source: 'x' })],
    ['prefixedKey', (text) => prefixedKey(text, text)],
    ['trimCharacter', (text) => trimCharacter(text, '/')],
    ['trimEndCharacter', (text) => trimEndCharacter(text, '/')],
    ['parseInstant', (text) => parseInstant('start', text, 1_700_000_000_000)],
    ['parseMultiValue', (text) => parseMultiValue('country', text)],
    ['readCookie', (text) => readCookie(text, 'dub_id')],
    ['readShortAddress', (text) => readShortAddress(text, `/${text}`)],
    ['readShortAddress of an encoded path', (text) => readShortAddress(undefined, `/${encodeURIComponent(text)}`)],
    // The longest query on the link port, and the longest stored destination.
    [
      'finalDestination',
      (text) => finalDestination(text.slice(0, URL_CHARS_MAX), { query: '', via: '', isPasswordCorrect: true }),
    ],
    [
      'finalDestination of a query',
      (text) => finalDestination(PAGE, { query: text.slice(0, VISIT_BYTES_MAX), via: '', isPasswordCorrect: true }),
    ],
    [
      'finalDestination of an incoming query',
      (text) => finalDestination(PAGE, { query: '', via: text.slice(0, VISIT_BYTES_MAX), isPasswordCorrect: true }),
    ],
    ['redirectTarget', (text) => redirectTarget(text, text)],
    ['pageTags', (text) => pageTags(text, PAGE)],
    ['pageTags of a title', (text) => pageTags(`<title>${text}`, PAGE)],
    ['pageTags of an image', (text) => pageTags(`<meta property="og:image" content="${text}">`, PAGE)],
  ])('%s', (_name, parse) => {
    expect(slowTexts(parse)).toEqual([]);
  });
});

it('a parser that takes quadratic time is detected', () => {
  const countPairs = (text: string) => {
    let pairs = 0;
    for (let first = 0; first < 9000; first++) {
      for (let second = 0; second < first; second++) pairs += Number(text[first] === text[second]);
    }
    return pairs;
  };
  expect(slowTexts(countPairs, HOSTILE_TEXTS.slice(0, 1))).toHaveLength(1);
});
