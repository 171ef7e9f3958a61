import { readdirSync, readFileSync } from 'node:fs';
import { processCpuMicroseconds } from './process-cpu.js';

/** What a process has used at one moment. */
export interface ProcessUse {
  /** Since its start, user and system, all threads. */
  readonly cpuMicroseconds: number;
  /** How often each thread has gone to sleep, by thread id: as often as something woke it. */
  readonly sleeps: ReadonlyMap<string, ThreadSleeps>;
}

interface ThreadSleeps {
  readonly name: string;
  readonly count: number;
}

/** Wake-ups of the threads of one name. */
export interface ThreadWakes {
  readonly name: string;
  readonly threads: number;
  readonly wakes: number;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The thread has ended.
    return undefined;
  }
}

/** Reads `/proc`, so Linux only. */
export function processUse(pid: number): ProcessUse {
  const sleeps = new Map<string, ThreadSleeps>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = read(`/proc/${pid}/task/${thread}/status`) ?? '';
    const [, name] = /^Name:\s+(.*)$/m.exec(status) ?? [];
    const [, count] = /^voluntary_ctxt_switches:\s+(\d+)/m.exec(status) ?? [];
    if (name !== undefined && count !== undefined) sleeps.set(thread, { name, count: Number(count) });
  }
  return { cpuMicroseconds: processCpuMicroseconds(pid), sleeps };
}

/** Wake-ups between two moments by the name of the thread, most first. Threads that ended in between are left out. */
export function wakesByThread(before: ProcessUse, after: ProcessUse): ThreadWakes[] {
  const byName = new Map<string, ThreadWakes>();
  for (const [thread, { name, count }] of after.sleeps) {
    const { threads = 0, wakes = 0 } = byName.get(name) ?? {};
    const woken = count - (before.sleeps.get(thread)?.count ?? 0);
    byName.set(name, { name, threads: threads + 1, wakes: wakes + woken });
  }
  return [...byName.values()].sort((one, other) => other.wakes - one.wakes);
}

/** Memory of a process, in MB of 1024 kB. */
export interface ProcessMemory {
  /** Pages that several processes map count in equal parts for each. */
  readonly proportional: number;
  /** Pages without a file behind them: heaps and stacks. */
  readonly anonymous: number;
}

export function processMemory(pid: number): ProcessMemory {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) / 1024;
  return { proportional: megabytes('Pss'), anonymous: megabytes('Anonymous') };
}
