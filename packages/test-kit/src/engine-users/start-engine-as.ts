import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { bundleProcess } from '../bundle-process.js';
import { type EngineUser, usersXml } from './users-xml.js';

/** An engine whose statements are those of one user: {@link startEngineAs}. */
export interface EngineSession {
  /** Runs a statement, and returns its result as tab-separated values without escapes. One statement at a time. */
  run(sql: string): Promise<string>;
  /** Closes the data directory, which stays. */
  stop(): Promise<void>;
}

/**
 * Opens the data directory of an embedded ClickHouse that has been stopped, as one of several users. The embedded server has only
 * one user, so rights, row policies and definers of views cannot be tested with it.
 */
export async function startEngineAs(
  dataDir: string,
  caller: EngineUser,
  others: readonly EngineUser[],
): Promise<EngineSession> {
  const config = join(dataDir, 'users-of-test.xml');
  writeFileSync(config, usersXml(config, caller, others));
  const child = fork(await bundleProcess(new URL('./engine-main.ts', import.meta.url)), [dataDir, config], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: environmentWith({}),
  });
  const exited = once(child, 'exit');
  const ended = exited.then((how): never => {
    throw new Error(`the engine ended: ${how.join(' ')}`);
  });
  ended.catch(() => {});
  const answer = async () => {
    const answered = once(child, 'message') as Promise<[{ readonly text?: string; readonly error?: string }]>;
    const [{ text, error }] = await Promise.race([answered, ended]);
    if (text === undefined) throw new Error(error);
    return text;
  };
  await answer();
  return {
    run(sql) {
      const answered = answer();
      child.send(sql);
      return answered;
    },
    async stop() {
      child.disconnect();
      await exited;
    },
  };
}
