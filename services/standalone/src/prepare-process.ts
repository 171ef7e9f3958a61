import { fork } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Settings } from '@waymark/config';
import { openLog } from './data-dir/log-files.js';
import { describeExit, processEntry } from './launch.js';
import type { PrepareOptions } from './prepare-stores.js';

/** The only message to the process of `prepare.ts`. */
export interface PrepareRequest extends Pick<PrepareOptions, 'stores' | 'domain'> {
  readonly settings: Settings;
}

/** Messages of that process: lines for the terminal, then the end. */
export type PrepareAnswer =
  | { readonly type: 'report'; readonly line: string }
  | { readonly type: 'prepared'; readonly apiKey: string | undefined }
  | { readonly type: 'failed'; readonly message: string };

/**
 * Runs `prepareStores` in a child process, which ends afterwards. Its log is `prepare.log`.
 *
 * @returns the API key of the first workspace, if this start created it
 * @throws Error with the message of the error in that process, or with its exit code or signal
 */
export async function prepareInProcess(
  request: PrepareRequest,
  report: (line: string) => void,
): Promise<string | undefined> {
  const log = openLog(request.settings.dataDir, 'prepare');
  // `advanced` passes keys as buffers. `detached`: Ctrl-C reaches only the supervisor, so that no migration is interrupted.
  const child = fork(processEntry('prepare'), {
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  });
  closeSync(log.fd);
  return new Promise((resolve, reject) => {
    child.on('message', (message) => {
      const answer = message as PrepareAnswer;
      if (answer.type === 'report') report(answer.line);
      else if (answer.type === 'failed') reject(new Error(answer.message));
      else resolve(answer.apiKey);
    });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`the stores could not be prepared (${describeExit(code, signal)}); see ${log.file}`)),
    );
    child.send(request);
  });
}
