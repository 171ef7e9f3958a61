import { defineConfig } from 'vitest/config';

// Tests run against the TypeScript sources: the `waymark-source` condition is in every package's exports. Not `module`, which
// is among vite's own: builds for bundlers import files without their extensions, and Node loads them here.
const conditions = ['waymark-source', 'node', 'development|production'];

declare module 'vitest' {
  interface ProvidedContext {
    /** How long the fault tests run: `short` in `npm run verify`, `long` in `npm run faults`. Read it with `inject`. */
    faultLength: 'short' | 'long';
  }
}

export default defineConfig(({ mode }) => {
  const isLong = mode === 'faults';
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    // The global set-up is loaded in an environment of its own.
    environments: { __vitest__: { resolve: { conditions } } },
    test: {
      include: ['packages/*/test/**/*.test.ts', 'services/*/test/**/*.test.ts', 'test/**/*.test.ts'],
      exclude: ['**/node_modules/**', 'test/bench/**'],
      globalSetup: ['packages/test-kit/src/global-setup.ts'],
      // vitest sets BASE_URL, which is a setting of ours: a service started by a test must not inherit it.
      env: { BASE_URL: '' },
      provide: { faultLength: isLong ? ('long' as const) : ('short' as const) },
      testTimeout: isLong ? 900_000 : 30_000,
      hookTimeout: 60_000,
      // The end of the shared ClickHouse: it has had thousands of tables, whose files are removed.
      teardownTimeout: 60_000,
      maxWorkers: isLong ? 1 : 2,
    },
  };
});
