import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The processes that tests start are compiled. Brings the build up to date, which takes half a second when it is. */
export async function setup(): Promise<void> {
  await promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '-b']).catch(
    (err: { readonly stdout: string }) => {
      throw new Error(`the build failed:\n${err.stdout}`);
    },
  );
}
