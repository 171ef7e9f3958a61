// What the stack of `npm run up` takes while it serves no requests: `npm run bench -- idle [--settle 240] [--seconds 60] [--threads]`.
// CPU, wake-ups and memory of each process; with `--threads` also the threads that wake up most.

import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { removeUp, runUp, temporaryDataDir } from '../../services/standalone/test/process/run-up.js';
import { type ProcessUse, processMemory, processUse, wakesByThread } from './lib/process-use.js';
import { machineLine, printTable } from './lib/report.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    settle: { type: 'string', default: '240' },
    threads: { type: 'boolean', default: false },
  },
});
const SECONDS = Number(values.seconds);
/** After the start compilers and merges are busy, and ClickHouse's background tasks run less often the longer they find nothing to do. */
const SETTLE_SECONDS = Number(values.settle);
const THREAD_NAMES_SHOWN = 8;

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const up = runUp(temporaryDataDir());
try {
  const { pids } = await up.ready();
  const processes = Object.entries(pids).filter((entry): entry is [string, number] => entry[1] !== null);
  await delay(SETTLE_SECONDS * 1000);

  const use = () => processes.map(([, pid]) => processUse(pid));
  const before = use();
  const startMs = performance.now();
  await delay(SECONDS * 1000);
  const after = use();
  const seconds = (performance.now() - startMs) / 1000;

  const measured = processes.map(([name, pid], index) => {
    const [first, last] = [before[index], after[index]] as [ProcessUse, ProcessUse];
    const threads = wakesByThread(first, last);
    return {
      name,
      cpuPercent: (last.cpuMicroseconds - first.cpuMicroseconds) / seconds / 1e4,
      wakes: sum(threads.map(({ wakes }) => wakes)) / seconds,
      threads,
      threadCount: last.sleeps.size,
      ...processMemory(pid),
    };
  });
  const total = {
    name: 'all',
    cpuPercent: sum(measured.map(({ cpuPercent }) => cpuPercent)),
    wakes: sum(measured.map(({ wakes }) => wakes)),
    threadCount: sum(measured.map(({ threadCount }) => threadCount)),
    proportional: sum(measured.map(({ proportional }) => proportional)),
    anonymous: sum(measured.map(({ anonymous }) => anonymous)),
  };
  console.log(`\n${machineLine()}\n`);
  printTable(
    ['process', 'CPU, % of a core', 'wake-ups a second', 'threads', 'PSS, MB', 'of it heaps and stacks, MB'],
    [...measured, total].map(({ name, cpuPercent, wakes, threadCount, proportional, anonymous }) => [
      name,
      cpuPercent.toFixed(2),
      wakes.toFixed(1),
      threadCount,
      proportional.toFixed(0),
      anonymous.toFixed(0),
    ]),
  );
  if (values.threads) {
    console.log();
    printTable(
      ['process', 'thread', 'number', 'wake-ups a second'],
      measured.flatMap(({ name, threads }) =>
        threads
          .slice(0, THREAD_NAMES_SHOWN)
          .map((thread) => [name, thread.name, thread.threads, (thread.wakes / seconds).toFixed(2)]),
      ),
    );
  }
  await up.stop();
} finally {
  await removeUp(up);
}
