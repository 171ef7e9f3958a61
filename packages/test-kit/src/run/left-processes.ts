import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

/** Every process that a vitest worker starts has this in its environment, and so have the processes that those start. */
const OF_A_WORKER = /(?:^|\0)VITEST_POOL_ID=/;

/** Names the processes that tests have left, when the run cannot end. */
export class LeftProcesses implements Reporter {
  onProcessTimeout(): void {
    const lines = leftProcesses(process.cwd());
    console.error(['', ' The run cannot end. Processes of its tests that still run:', ...lines, ''].join('\n'));
    console.error(` What this process waits for: ${process.getActiveResourcesInfo().join(', ')}`);
  }
}

/** The processes that tests have started in a directory, each as its ids, its output and its command line. Empty where there is no /proc. */
export function leftProcesses(directory: string): string[] {
  return processIds().flatMap((pid) => {
    const of = `/proc/${pid}`;
    try {
      if (readlinkSync(`${of}/cwd`) !== directory || !OF_A_WORKER.test(readFileSync(`${of}/environ`, 'utf8')))
        return [];
      const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`${of}/status`, 'utf8'))?.[1];
      const output = [1, 2].map((number) => readlinkSync(`${of}/fd/${number}`)).join(' ');
      const command = readFileSync(`${of}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return [`${pid} (parent ${parent}, output ${output}): ${command}`];
    } catch {
      // It has ended since, or belongs to another user.
      return [];
    }
  });
}

function processIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}
