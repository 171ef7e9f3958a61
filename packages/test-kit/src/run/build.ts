import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

/**
 * Builds the repository, because the processes that tests start run compiled code. Takes two seconds if nothing has changed. In runs
 * with a mode it is built already, by the script that names the mode.
 */
export async function setup({ config }: TestProject): Promise<void> {
  if (config.env.BUILT_BY_SCRIPT === '1') return;
  await promisify(execFile)('npm', ['run', '--silent', 'build']).catch(
    ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`the build failed:\n${stdout}${stderr}`);
    },
  );
}
