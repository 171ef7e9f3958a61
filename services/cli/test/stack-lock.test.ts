import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { BIN } from './run-cli.js';

/** A user that may not send signals to process 1: `nobody` where the tests run as root. */
const STRANGER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

it('a stack that another user is starting is not overlooked', () => {
  const dataDir = temporaryDirectory('waymark-stack-lock-');
  chmodSync(dataDir, 0o777);
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(join(dataDir, 'run', 'supervisor.lock'), JSON.stringify({ supervisor: { pid: 1 } }));
  const { status, stderr } = spawnSync(process.execPath, [BIN, 'restore', join(dataDir, 'backup')], {
    ...STRANGER,
    env: environmentWith({ DATA_DIR: dataDir }),
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([
    1,
    `waymark: a stack on ${dataDir} is starting or stopping (process 1): try again\n`,
  ]);
});
