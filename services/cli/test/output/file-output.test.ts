import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { openFileOutput } from '../../src/export/export-output.js';

it('an export removes what killed exports to the same file have left, and nothing else', async () => {
  const directory = temporaryDirectory('waymark-parts-');
  const { pid: ended } = spawnSync(process.execPath, ['--version']);
  const others = ['made', `made.${process.ppid}.part`, 'made.part', `more.${ended}.part`];
  for (const name of [...others, `made.${ended}.part`]) writeFileSync(join(directory, name), '');
  const output = await openFileOutput(join(directory, 'made'));
  await output.complete();
  expect(readdirSync(directory).sort()).toEqual(others.sort());
});
