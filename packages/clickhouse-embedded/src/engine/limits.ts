import { totalmem } from 'node:os';

const MEBIBYTE = 1024 * 1024;
const MEMORY_BYTES_MIN = 768 * MEBIBYTE;
const MEMORY_BYTES_MAX = 8192 * MEBIBYTE;
const MEMORY_SHARE = 0.4;
const RESULT_BYTES_MAX = 128 * MEBIBYTE;
export const REQUEST_BYTES_MAX = 128 * MEBIBYTE;

/** What the engine may use by default: 40 % of the machine or of the container, 768 MiB at least, 8 GiB at most. */
export function defaultMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  const available = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.round(Math.min(MEMORY_BYTES_MAX, Math.max(MEMORY_BYTES_MIN, available * MEMORY_SHARE)));
}

/**
 * Arguments of the engine for a machine it shares with everything else. Its own defaults are those of a server that has the
 * machine to itself: caches of 5 GiB. Background pools are already as small as they get (2 merges).
 */
export function engineArguments(memoryBytes: number): string[] {
  const cacheBytes = Math.round(memoryBytes / 16);
  return [
    `--max_server_memory_usage=${memoryBytes}`,
    `--mark_cache_size=${cacheBytes}`,
    `--primary_index_cache_size=${cacheBytes}`,
    `--index_mark_cache_size=${Math.round(cacheBytes / 4)}`,
    `--query_condition_cache_size=${Math.round(cacheBytes / 4)}`,
    // Threads kept for later; a thousand by default.
    `--max_thread_pool_free_size=64`,
  ];
}

/**
 * Settings every statement starts with. A result is held whole before it is sent, so a large one is refused: code 396 by its
 * size, code 241 by the memory it takes to make.
 */
export function baseSettings(memoryBytes: number): Readonly<Record<string, string>> {
  return {
    max_memory_usage: String(Math.round(memoryBytes * 0.6)),
    max_result_bytes: String(Math.min(RESULT_BYTES_MAX, Math.round(memoryBytes / 8))),
    // On by default in this engine, where it gathers nothing and only delays.
    async_insert: '0',
    // The zone of the machine would otherwise show in `now()` and in columns without a zone.
    session_timezone: 'UTC',
  };
}
