import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environmentWith } from '@waymark/config';
import { vi } from 'vitest';
import { runCommandLine } from '../src/command-line.js';

export const BIN = fileURLToPath(new URL('../bin/waymark.mjs', import.meta.url));

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

/**
 * Runs a command line in this process, without the second that a Node process takes to start. One at a time: it captures the
 * console and sets the environment of the process.
 */
export async function runCommand(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CliRun> {
  const printed = { stdout: '', stderr: '' };
  const capture = (method: 'log' | 'error', stream: keyof typeof printed) =>
    vi.spyOn(console, method).mockImplementation((line: unknown) => {
      printed[stream] += `${line}\n`;
    });
  const captured = [capture('log', 'stdout'), capture('error', 'stderr')];
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    const code = await runCommandLine([process.execPath, BIN, ...args]);
    return { code, ...printed };
  } finally {
    for (const spy of captured) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}
