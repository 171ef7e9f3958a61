import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The processes that tests start are built. Brings the build up to date, which takes two seconds when it is. */
export async function setup(): Promise<void> {
  await promisify(execFile)('npm', ['run', '--silent', 'build']).catch((err: { readonly stdout: string }) => {
    throw new Error(`the build failed:\n${err.stdout}`);
  });
}
