import { totalmem } from 'node:os';

const MEBIBYTE = 1024 * 1024;
const MEMORY_BYTES_MIN = 768 * MEBIBYTE;
const MEMORY_BYTES_MAX = 8192 * MEBIBYTE;
const MEMORY_SHARE = 0.4;
const RESULT_BYTES_MAX = 128 * MEBIBYTE;
/** Limit on the bytes of a request body, after decompression. */
export const REQUEST_BYTES_MAX = 128 * MEBIBYTE;

/** The engine's default memory limit in bytes: 40 % of the machine or container, at least 768 MiB, at most 8 GiB. */
export function defaultMemoryBytes(): number {
  const constrained = process.constrainedMemory();
  const available = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.round(Math.min(MEMORY_BYTES_MAX, Math.max(MEMORY_BYTES_MIN, available * MEMORY_SHARE)));
}

/**
 * Engine arguments for a machine that is shared with other processes. The engine's defaults are for a server of its own, such as
 * caches of 5 GiB. The background pools need no argument: they are small by default (2 merges).
 */
export function engineArguments(memoryBytes: number): string[] {
  const cacheBytes = Math.round(memoryBytes / 16);
  return [
    `--max_server_memory_usage=${memoryBytes}`,
    `--mark_cache_size=${cacheBytes}`,
    `--primary_index_cache_size=${cacheBytes}`,
    `--index_mark_cache_size=${Math.round(cacheBytes / 4)}`,
    `--query_condition_cache_size=${Math.round(cacheBytes / 4)}`,
    // How many idle threads are kept; the default is a thousand.
    `--max_thread_pool_free_size=64`,
    // How often counted memory is compared with the process's; the default, 20 times a second, kept an idle process busy. Allocations
    // count against the limit at once, whatever this is.
    '--memory_worker_period_ms=1000',
    // The shortest time, in seconds, after which a table with nothing to merge is checked again; the default is a tenth of it, with
    // which each of our tables was checked about once a second. Inserts and mutations wake a table at once, whatever this is. One second is not
    // exceeded, although 10 seconds would halve the cost of an idle process: a table whose mutation finds every thread of the pool busy waits
    // as long, because threads that other tables free do not wake it. An erasure changes more tables than there are threads.
    '--background_processing_pool_thread_sleep_seconds_if_nothing_to_do=1',
    // Expressions are not compiled to machine code: compiling one takes 24 ms of CPU, at the third statement that has it, and a run of the
    // compiled one saves microseconds. The figures are in test/bench/query/README.md.
    '--compile_expressions=0',
    '--compile_aggregate_expressions=0',
    '--compile_sort_description=0',
    '--compile_regular_expressions=0',
  ];
}

/**
 * Default settings of every statement. A whole result is held in memory before it is sent, so large ones are refused: with code 396
 * for the size of the result, or 241 for the memory of the query.
 */
export function baseSettings(memoryBytes: number): Readonly<Record<string, string>> {
  return {
    max_memory_usage: String(Math.round(memoryBytes * 0.6)),
    max_result_bytes: String(Math.min(RESULT_BYTES_MAX, Math.round(memoryBytes / 8))),
    // On by default in this engine, where it only delays inserts.
    async_insert: '0',
    // Otherwise `now()`, and columns without a time zone, would use that of the machine.
    session_timezone: 'UTC',
    // With the default, another thread reads what the kernel has not cached. On tmpfs that is everything, which made a short read a fifth
    // slower.
    local_filesystem_read_method: 'pread',
  };
}
