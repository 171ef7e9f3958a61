import { restartResourceIds } from '@waymark/contract';
import { afterAll } from 'vitest';
import { cpuMs } from './cpu-time.js';

const startedMs = cpuMs();

// One process runs many test files, which share libraries and our modules. The only state of a module that one file can disturb in another
// is the last id, which a clock that is set ahead takes with it.
restartResourceIds();

// Hooks run in reverse order, so this one after those of the file.
// biome-ignore lint/correctness/noEmptyPattern: vitest accepts no other first parameter
afterAll(({}, file) => {
  file.meta.cpuMs = cpuMs() - startedMs;
});
