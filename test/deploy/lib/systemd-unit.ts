import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunState, readRunState } from '@waymark/config';
import { endingOf, waitFor } from '@waymark/test-kit';
import { ROOT } from './manifests.js';

export const UNIT_FILE = join(ROOT, 'deploy/systemd/waymark.service');
/** What systemd sets when a unit does not. */
const SYSTEMD_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin';
const NOBODY = 65_534;
const START_MS_MAX = 120_000;

/** Only root may start a process of another user. */
export const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** The directives of the section `[Service]`, each with its values in their order. */
export function serviceDirectives(): ReadonlyMap<string, readonly string[]> {
  const [, section = ''] = readFileSync(UNIT_FILE, 'utf8').split('[Service]\n');
  const directives = new Map<string, string[]>();
  for (const line of (section.split(/^\[/m)[0] ?? '').split('\n')) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== '') directives.set(name, [...(directives.get(name) ?? []), value]);
  }
  return directives;
}

/** The environment of the unit's process, and nothing of ours; with free ports, and `dataDir` in place of its own. */
export function unitEnvironment(dataDir: string): Record<string, string> {
  const assignments = (serviceDirectives().get('Environment') ?? []).map((text) => text.split('='));
  return { PATH: SYSTEMD_PATH, ...Object.fromEntries(assignments), DATA_DIR: dataDir, API_PORT: '0', LINK_PORT: '0' };
}

/**
 * Starts the unit's command in the repository, and waits until the stack is up. The user of the process may not write to the repository,
 * unless the test runs without root.
 */
export async function startUnit(
  dataDir: string,
): Promise<{ readonly state: RunState; stop(): Promise<number | null> }> {
  if (isRoot) chownSync(dataDir, NOBODY, NOBODY);
  const [, ...args] = (serviceDirectives().get('ExecStart')?.[0] ?? '').split(' ');
  const child = spawn(process.execPath, args, { cwd: ROOT, env: unitEnvironment(dataDir), ...asUser });
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const state = await waitFor(() => readRunState(dataDir), {
    what: 'the unit to be up',
    timeoutMs: START_MS_MAX,
    failure: () => endingOf(child) && "the unit's process has ended",
    details: () => output,
  });
  return {
    state,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
  };
}

/** Runs a program in the repository as the unit's user and with its environment. @returns its standard output */
export async function runAsUnit(dataDir: string, program: string, ...args: readonly string[]): Promise<string> {
  const options = { cwd: ROOT, env: unitEnvironment(dataDir), ...asUser };
  return (await promisify(execFile)(program, args, options)).stdout;
}
