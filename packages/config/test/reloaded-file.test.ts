import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import { openReloadedFile } from '../src/index.js';

test('a changed file that cannot be read at first is read at a later check, although it has not changed again', async () => {
  const directory = temporaryDirectory('waymark-reloaded-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'file');
  writeFileSync(path, 'old');
  let isReadable = true;
  let errors = 0;
  const read = () => {
    if (!isReadable) throw new Error('permission denied');
    return readFileSync(path, 'utf8');
  };
  const file = openReloadedFile(path, read, { checkIntervalMs: 5, onReloadError: () => (errors += 1) });
  onTestFinished(file.close);
  isReadable = false;
  writeFileSync(path, 'new');
  await waitFor(() => errors >= 2, { what: 'the second attempt' });
  expect(file.current()).toBe('old');
  isReadable = true;
  await waitFor(() => file.current() === 'new', { what: 'the new content' });
});

test('a file that is replaced by another of the same size and time is read again', async () => {
  const directory = temporaryDirectory('waymark-replaced-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [path, other] = [join(directory, 'file'), join(directory, 'other')];
  writeFileSync(path, 'old');
  writeFileSync(other, 'new');
  const time = new Date('2026-01-01T00:00:00Z');
  for (const file of [path, other]) utimesSync(file, time, time);
  const file = openReloadedFile(path, (name) => readFileSync(name, 'utf8'), { checkIntervalMs: 5 });
  onTestFinished(file.close);
  renameSync(other, path);
  expect(statSync(path)).toMatchObject({ size: 3, mtime: time });
  await waitFor(() => file.current() === 'new', { what: 'the new content', timeoutMs: 10_000 });
});
