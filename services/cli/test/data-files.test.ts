import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { copyData, linkAhead, linkData, listData } from '../src/backup/data-files.js';

const TABLE = 'clickhouse/store/a10/a1000000-0000-0000-0000-000000000000';
const LOG = `${TABLE}/deduplication_logs/log`;

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory('waymark-linked-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
});

it('a pause links only what has changed since the files were linked, and the copy is as they were in the pause', async () => {
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

/** DATA_DIR whose `clickhouse` is a link to a directory that has a file, and a link of its own. */
function withLinkedStore(elsewhere: string): string {
  const dataDir = join(directory, 'data');
  mkdirSync(dataDir);
  mkdirSync(join(elsewhere, 'store'), { recursive: true });
  writeFileSync(join(elsewhere, 'store', 'rows'), 'rows');
  symlinkSync('store', join(elsewhere, 'data'));
  symlinkSync(elsewhere, join(dataDir, 'clickhouse'));
  return dataDir;
}

it('of a store or a key that is a link to another place, the content is copied, and linked while the stack runs', async () => {
  const dataDir = withLinkedStore(join(directory, 'larger disk'));
  writeFileSync(join(directory, 'secret'), 'key');
  symlinkSync('../secret', join(dataDir, 'admin.key'));
  const to = join(directory, 'copy');
  await copyData(listData(dataDir), dataDir, to, new AbortController().signal);
  expect(lstatSync(join(to, 'clickhouse')).isDirectory()).toBe(true);
  expect(readFileSync(join(to, 'clickhouse', 'store', 'rows'), 'utf8')).toBe('rows');
  expect(readlinkSync(join(to, 'clickhouse', 'data'))).toBe('store');

  const stage = join(directory, 'stage');
  linkData(dataDir, stage, linkAhead(dataDir, stage));
  expect(readFileSync(join(stage, 'clickhouse', 'store', 'rows'), 'utf8')).toBe('rows');
  expect(lstatSync(join(stage, 'admin.key')).isFile()).toBe(true);
  expect(readFileSync(join(stage, 'admin.key'), 'utf8')).toBe('key');
});

it('a store that is a link to a disk that is not there is refused', () => {
  const dataDir = withLinkedStore(join(directory, 'larger disk'));
  rmSync(join(directory, 'larger disk'), { recursive: true });
  expect(() => listData(dataDir)).toThrow(/clickhouse is a link to .*larger disk, which does not exist/);
});

const aDirectory = temporaryDirectory('waymark-disk-');
const deviceOf = (path: string) => statSync(path).dev;
const otherDisk = ['/dev/shm', '/tmp', '/var/tmp'].find(
  (path) => existsSync(path) && deviceOf(path) !== deviceOf(aDirectory),
);
rmSync(aDirectory, { recursive: true });

it.skipIf(otherDisk === undefined)(
  'of a running stack, a store on another disk is refused with the reason (skipped: there is no other disk)',
  () => {
    const elsewhere = mkdtempSync(join(otherDisk ?? '', 'waymark-disk-'));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    const dataDir = withLinkedStore(elsewhere);
    expect(() => linkAhead(dataDir, join(directory, 'stage'))).toThrow('is not on the disk of DATA_DIR');
  },
);

it('a backup has the keys of a rotation: the present ones and the previous ones', () => {
  const keys = ['instance.key', 'instance-previous.key', 'admin.key', 'admin-previous.key'];
  for (const name of keys) writeFileSync(join(directory, name), 'a key');
  expect(listData(directory).map(({ path }) => path)).toEqual(keys);
});
