import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { changedRooms } from './packages/test-kit/src/run/changed-rooms.js';
import { LeftProcesses } from './packages/test-kit/src/run/left-processes.js';
import { LongFilesFirst } from './packages/test-kit/src/run/long-files-first.js';
import { SlowestFiles } from './packages/test-kit/src/run/slowest-files.js';
import { type ProjectName, TOGETHER, testFiles } from './packages/test-kit/src/run/test-projects.js';
import { UnhandledErrors } from './packages/test-kit/src/run/unhandled-errors.js';

// Tests run against the TypeScript sources: the `waymark-source` condition is in every package's exports. Not `module`, which
// is among vite's own: builds for bundlers import files without their extensions, and Node loads them here.
const conditions = ['waymark-source', 'node', 'development|production'];

const JSON_REPORTER: ['json', { outputFile: string }] = [
  'json',
  { outputFile: 'node_modules/.cache/test-report.json' },
];

declare module 'vitest' {
  interface ProvidedContext {
    /** How long the fault tests run: `short` in `npm run verify`, `long` in `npm run faults`. Read it with `inject`. */
    faultLength: 'short' | 'long';
  }
}

/**
 * `verify`: all tests, with a report for the closing line of `npm run verify`. `changed`: unit tests, and the store tests of the
 * rooms with changes. `faults`: the fault tests in their long form. `test` is what vitest calls a run without a mode.
 */
type Mode = 'test' | 'verify' | 'changed' | 'faults';

type IncludedFiles = Partial<Record<ProjectName | typeof TOGETHER, string[]>>;

/** Files of each project. Those without stores need no list: a new file belongs to them until the next start. */
function includedFiles(mode: Mode): IncludedFiles {
  const files = testFiles();
  const rooms = mode === 'changed' ? changedRooms() : undefined;
  const of = (project: ProjectName) => [...files].flatMap(([path, name]) => (name === project ? [path] : []));
  const isSelected = (path: string) => rooms === undefined || rooms.some((room) => path.startsWith(`${room}/`));
  const ofWholeRuns = (project: ProjectName) => (rooms === undefined ? of(project) : []);
  if (mode === 'verify')
    return { [TOGETHER]: [...of('system'), ...of('stores'), ...of('unit')], isolated: of('isolated') };
  return {
    system: ofWholeRuns('system'),
    isolated: of('isolated').filter(isSelected),
    stores: of('stores').filter(isSelected),
    unit: of('unit'),
  };
}

export default defineConfig(({ mode }) => {
  const isLong = mode === 'faults';
  /** The scripts that name a mode have built the repository before. */
  const isBuilt = mode !== 'test';
  const projects = Object.entries(includedFiles(mode as Mode)).map(
    ([name, include]): TestProjectInlineConfiguration => ({
      resolve: { conditions },
      ssr: { resolve: { conditions } },
      test: {
        name,
        include,
        setupFiles: ['packages/test-kit/src/run/each-file.ts'],
        isolate: name === 'isolated',
        ...(name === 'system' && { globalSetup: ['packages/test-kit/src/run/build.ts'] }),
        // vitest sets BASE_URL, which is a setting of ours: a service started by a test must not inherit it.
        env: {
          BASE_URL: '',
          BUILT_BY_SCRIPT: isBuilt ? '1' : '',
          TESTS_ARE_BUILT: isBuilt || name === 'system' ? '1' : '',
        },
        provide: { faultLength: isLong ? 'long' : 'short' },
        // For tests that hang. On a busy machine with two slow cores the longest test takes half of it.
        testTimeout: isLong ? 900_000 : 90_000,
        hookTimeout: 120_000,
        // Longer than the default of one second, which a busy machine may exceed.
        expect: { poll: { timeout: 20_000 } },
      },
    }),
  );
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    // The global set-up is loaded in an environment of its own.
    environments: { __vitest__: { resolve: { conditions } } },
    test: {
      projects,
      globalSetup: ['packages/test-kit/src/run/global-setup.ts'],
      sequence: { sequencer: LongFilesFirst },
      reporters: [
        'default',
        new SlowestFiles(mode === 'verify' ? 'node_modules/.cache/durations.json' : undefined),
        new LeftProcesses(),
        ...(mode === 'verify' ? [JSON_REPORTER, new UnhandledErrors('node_modules/.cache/unhandled-errors')] : []),
      ],
      // For ending the shared ClickHouse and removing its files, which takes seconds on a busy machine. What keeps the run alive longer is
      // named by `LeftProcesses`, such as a process that a test has left: it holds the output of its worker open.
      teardownTimeout: 15_000,
      // More than the two cores of most machines that run the tests, because tests of stores and processes often wait. With four system
      // files at once, two cores had twenty processes to run, and time limits of the product were reached.
      maxWorkers: isLong ? 1 : 3,
    },
  };
});
