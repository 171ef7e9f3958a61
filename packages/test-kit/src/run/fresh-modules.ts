import { afterAll, vi } from 'vitest';
import { cpuMs } from './cpu-time.js';

const startedMs = cpuMs();

// One process runs many test files, so that libraries are loaded once. Our own modules are evaluated again for each file, so that files
// share no module state.
vi.resetModules();

// Hooks run in reverse order, so this one after those of the file.
// biome-ignore lint/correctness/noEmptyPattern: vitest accepts no other first parameter
afterAll(({}, file) => {
  file.meta.cpuMs = cpuMs() - startedMs;
});
