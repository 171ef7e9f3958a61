import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { copyData, linkAhead, linkData } from '../src/backup/data-files.js';

const TABLE = 'clickhouse/store/a10/a1000000-0000-0000-0000-000000000000';
const LOG = `${TABLE}/deduplication_logs/log`;

it('a pause links only what has changed since the files were linked, and the copy is as they were in the pause', async () => {
  const directory = temporaryDirectory('waymark-linked-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const [from, stage, to] = ['data', 'stage', 'copy'].map((name) => join(directory, name)) as [string, string, string];
  const write = (path: string, text: string) => {
    mkdirSync(join(from, path, '..'), { recursive: true });
    writeFileSync(join(from, path), text);
  };
  const append = (path: string, text: string) => appendFileSync(join(from, path), text);
  for (const part of ['all_1_1_0', 'all_2_2_0', 'all_3_3_0']) {
    write(`${TABLE}/${part}/by_link.proj/data.bin`, 'copies');
    write(`${TABLE}/${part}/data.bin`, 'rows');
    utimesSync(join(from, TABLE, part), 1, 1);
  }
  for (const path of [LOG, 'redis/log', 'redis/manifest']) write(path, 'before');

  const ahead = linkAhead(from, stage);
  const linked = () => statSync(join(stage, TABLE, 'all_1_1_0'), { bigint: true }).ctimeNs;
  const linkedAt = linked();
  for (const part of ['all_2_2_0', 'all_3_3_0']) rmSync(join(from, TABLE, part), { recursive: true });
  write(`${TABLE}/all_2_3_1/data.bin`, 'merged');
  for (const path of [LOG, 'redis/log']) append(path, ' and more');
  write('redis/draft', 'replaced');
  renameSync(join(from, 'redis/draft'), join(from, 'redis/manifest'));
  const entries = linkData(from, stage, ahead);
  for (const path of [LOG, 'redis/log']) append(path, ' after the pause');

  expect(linked()).toBe(linkedAt);
  await copyData(entries, stage, to, new AbortController().signal);
  const copied = entries.flatMap(({ type, path }) =>
    type === 'file' ? [[path, readFileSync(join(to, path), 'utf8')]] : [],
  );
  expect(Object.fromEntries(copied)).toEqual({
    [`${TABLE}/all_1_1_0/by_link.proj/data.bin`]: 'copies',
    [`${TABLE}/all_1_1_0/data.bin`]: 'rows',
    [`${TABLE}/all_2_3_1/data.bin`]: 'merged',
    [LOG]: 'before and more',
    'redis/log': 'before and more',
    'redis/manifest': 'replaced',
  });
});
