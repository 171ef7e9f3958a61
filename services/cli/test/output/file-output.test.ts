import { spawnSync } from 'node:child_process';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { openFileOutput } from '../../src/export/export-output.js';

it('an export removes what a killed export has left, and nothing else', async () => {
  const directory = temporaryDirectory('waymark-parts-');
  const { pid: ended } = spawnSync('true');
  const others = ['made', 'made.part', `made.${ended}.part`];
  for (const name of [...others, `made.${ended}-0123abcd@${hostname()}.part`]) {
    writeFileSync(join(directory, name), '');
    utimesSync(join(directory, name), 0, 0);
  }
  const output = await openFileOutput(join(directory, 'made'));
  await output.complete();
  expect(readdirSync(directory).sort()).toEqual(others.sort());
});
