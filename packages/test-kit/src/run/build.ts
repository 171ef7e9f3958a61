import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Builds the repository, because the processes that tests start run compiled code. Takes two seconds if nothing has changed. */
export async function setup(): Promise<void> {
  await promisify(execFile)('npm', ['run', '--silent', 'build']).catch((err: { readonly stdout: string }) => {
    throw new Error(`the build failed:\n${err.stdout}`);
  });
}
