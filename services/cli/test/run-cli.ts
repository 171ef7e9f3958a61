import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '@waymark/config';

const BIN = fileURLToPath(new URL('../bin/waymark.mjs', import.meta.url));

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command line program. */
export function runCli(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CliRun> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { env: environmentWith(env) }, (err, stdout, stderr) => {
      resolve({ code: err === null ? 0 : typeof err.code === 'number' ? err.code : 1, stdout, stderr });
    });
  });
}
