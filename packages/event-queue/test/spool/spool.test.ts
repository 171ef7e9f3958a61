import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createJobId } from '../../src/queue/job-id.js';
import { ownSpoolPrefix } from '../../src/spool/file-owner.js';
import type { SpoolEntry } from '../../src/spool/frame.js';
import { openSegment } from '../../src/spool/segment.js';
import { createSpool, type Spool, SpoolFullError, type SpoolOptions } from '../../src/spool/spool.js';
import { silentLogger } from '../silent-logger.js';

const SYS_FILE = '/sys/kernel/uevent_seqnum';
/** The name of a file of a process on another host. */
const OTHER_FILE = 'another-host~1~1~abc~000001.spool';

let directory: string;
const opened: Spool[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waymark-spool-'));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((spool) => spool.close()));
  await rm(directory, { recursive: true, force: true });
});

function aSpool(options: Partial<SpoolOptions> = {}): Spool {
  const spool = createSpool({ directory, bytesMax: 10_000_000, logger: silentLogger, now: Date.now, ...options });
  opened.push(spool);
  return spool;
}

function anEntry(rows = '["1",2,"three ü"]'): SpoolEntry {
  return {
    jobId: createJobId(),
    kind: 'click',
    version: 1,
    rowCount: 1,
    rows,
    marker: { group: 'abc', bit: 3 },
    claims: [{ name: 'c:xyz', value: 'abc.3:id' }],
    claimsUntil: 1234,
  };
}

async function replayed(spool: Spool): Promise<SpoolEntry[]> {
  const entries: SpoolEntry[] = [];
  await spool.replay(async (chunk) => {
    entries.push(...chunk);
  });
  return entries;
}

const files = async () => (await readdir(directory)).sort();

it('begins the names of its files as every spool of this process does', async () => {
  const spool = aSpool();
  await spool.append(anEntry());
  const [name] = await files();
  expect(name?.startsWith(await ownSpoolPrefix())).toBe(true);
});

/** Renames the only file of the directory so that it belongs to a process that has ended. */
async function orphanFile(): Promise<string> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const [name = ''] = await files();
  const parts = name.split('~');
  const orphan = [parts[0], child.pid, ...parts.slice(2)].join('~');
  await rename(join(directory, name), join(directory, orphan));
  return join(directory, orphan);
}

describe('the spool', () => {
  it('ends a wait for entries as soon as one is on disk, and when the wait is given up', async () => {
    const spool = aSpool();
    const waiting = spool.waitForEntries(600_000, new AbortController().signal);
    await spool.append(anEntry());
    await waiting;
    expect(spool.hasEntries()).toBe(true);
    const givingUp = new AbortController();
    const waitingAgain = spool.waitForEntries(600_000, givingUp.signal);
    givingUp.abort();
    await waitingAgain;
  });

  it('replays every entry unchanged, and leaves no file', async () => {
    const spool = aSpool();
    const entries = Array.from({ length: 100 }, () => anEntry());
    await Promise.all(entries.map((entry) => spool.append(entry)));
    expect(spool.hasEntries()).toBe(true);
    expect(await replayed(spool)).toEqual(entries);
    expect(spool.hasEntries()).toBe(false);
    expect(await files()).toEqual([]);
  });

  it('resumes a replay at the entry that could not be sent', async () => {
    const spool = aSpool();
    const entries = Array.from({ length: 70 }, () => anEntry());
    await Promise.all(entries.map((entry) => spool.append(entry)));
    const sent: SpoolEntry[] = [];
    const failing = spool.replay(async (chunk) => {
      if (sent.length > 30) throw new Error('redis is full');
      sent.push(...chunk);
    });
    await expect(failing).rejects.toThrow('redis is full');
    expect([...sent, ...(await replayed(spool))]).toEqual(entries);
    expect(await files()).toEqual([]);
  });

  it('resumes a replay at the bytes of that entry, and does not read those before it again', async () => {
    const spool = aSpool();
    const entries = Array.from({ length: 70 }, () => anEntry());
    await Promise.all(entries.map((entry) => spool.append(entry)));
    const sent: SpoolEntry[] = [];
    const failing = spool.replay(async (chunk) => {
      if (sent.length > 30) throw new Error('redis is full');
      sent.push(...chunk);
    });
    await expect(failing).rejects.toThrow('redis is full');
    const [name = ''] = await files();
    const path = join(directory, name);
    const bytes = await readFile(path);
    await writeFile(path, bytes.fill('x', 0, 1_000));
    expect([...sent, ...(await replayed(spool))]).toEqual(entries);
    expect(await files()).toEqual([]);
  });

  it('takes over the file of a dead process, and ignores its incomplete last entry', async () => {
    const first = aSpool();
    const entries = [anEntry(), anEntry()];
    for (const entry of entries) await first.append(entry);
    await first.append(anEntry());
    const orphan = await orphanFile();
    await truncate(orphan, (await readFile(orphan)).length - 5);
    expect(await replayed(aSpool())).toEqual(entries);
    expect(await files()).toEqual([]);
  });

  it('gives the age of its oldest file, also when it has taken that over after its own', async () => {
    await aSpool().append(anEntry());
    const orphan = await orphanFile();
    const elsewhere = `${directory}-elsewhere`;
    onTestFinished(() => rm(elsewhere, { force: true }));
    await rename(orphan, elsewhere);
    const ownMs = Date.now() + 60_000;
    const spool = aSpool({ now: () => ownMs });
    const fail = () => Promise.reject(new Error('no room'));
    await spool.append(anEntry());
    await expect(spool.replay(fail)).rejects.toThrow('no room');
    expect(await spool.oldestMs()).toBe(ownMs);
    await rename(elsewhere, orphan);
    await expect(spool.replay(fail)).rejects.toThrow('no room');
    expect(await spool.oldestMs()).toBeLessThan(ownMs);
  });

  it('gives the age of the files of other processes that share its directory', async () => {
    const other = aSpool();
    const spool = aSpool();
    expect(await spool.oldestMs()).toBeUndefined();
    const startedMs = Date.now();
    await other.append(anEntry());
    const oldestMs = (await spool.oldestMs()) ?? 0;
    // A file system may round the time of a file.
    expect(Math.abs(oldestMs - startedMs)).toBeLessThan(60_000);
    await replayed(other);
    expect(await spool.oldestMs()).toBeUndefined();
  });

  it('gives no age of a copy, which no process takes over', async () => {
    await appendFile(join(directory, 'copy.spool'), 'the bytes of a spool file');
    expect(await aSpool().oldestMs()).toBeUndefined();
  });

  // Files in /sys have a size and no time of creation.
  it.runIf(existsSync(SYS_FILE))('gives 0 for a file whose time of creation is not stored', async () => {
    await symlink(SYS_FILE, join(directory, OTHER_FILE));
    expect(await aSpool().oldestMs()).toBe(0);
  });

  it('gives no age when the directory or a file cannot be read', async () => {
    const spool = aSpool();
    await symlink(OTHER_FILE, join(directory, OTHER_FILE));
    await expect(spool.oldestMs()).rejects.toThrow('ELOOP');
    await rm(directory, { recursive: true });
    expect(await spool.oldestMs()).toBeUndefined();
    await writeFile(directory, '');
    await expect(spool.oldestMs()).rejects.toThrow('ENOTDIR');
  });

  it('gives the age of a file that other processes take over meanwhile', async () => {
    const spool = aSpool();
    let name = OTHER_FILE;
    await appendFile(join(directory, name), 'the bytes of a spool file');
    let isDone = false;
    const renaming = (async () => {
      for (let number = 0; !isDone; number++) {
        const next = OTHER_FILE.replace('000001', String(number));
        await rename(join(directory, name), join(directory, next));
        name = next;
      }
    })();
    const ages: (number | undefined)[] = [];
    while (ages.length < 200) ages.push(await spool.oldestMs());
    isDone = true;
    await renaming;
    expect(ages).not.toContain(undefined);
  });

  it('takes over the file of another host once it has not been touched for a minute', async () => {
    const entry = anEntry();
    await aSpool().append(entry);
    const [name = ''] = await files();
    const [, ...others] = name.split('~');
    await rename(join(directory, name), join(directory, ['another-host', ...others].join('~')));
    expect(await replayed(aSpool({ now: () => Date.now() + 30_000 }))).toEqual([]);
    expect(await replayed(aSpool({ now: () => Date.now() + 61_000 }))).toEqual([entry]);
  });

  it('does not take over the file of a living process', async () => {
    const owner = aSpool();
    await owner.append(anEntry());
    expect(await replayed(aSpool())).toEqual([]);
    expect(await replayed(owner)).toHaveLength(1);
  });

  it('writes an entry again when its file was taken over meanwhile', async () => {
    const owner = aSpool();
    await owner.append(anEntry());
    const taken = await orphanFile();
    const late = anEntry();
    await owner.append(late);
    await rm(taken);
    expect(await replayed(owner)).toEqual([late]);
  });

  it('keeps the entries of a file whose directory fails for a moment', async () => {
    const spool = aSpool();
    const [first, second, third] = [anEntry(), anEntry(), anEntry()];
    await spool.append(first);
    const away = `${directory}-away`;
    await rename(directory, away);
    await writeFile(directory, '');
    await expect(spool.append(second)).rejects.toMatchObject({ code: 'ENOTDIR' });
    await rm(directory);
    await rename(away, directory);
    await spool.append(third);
    const ids = (await replayed(spool)).map(({ jobId }) => jobId);
    expect(ids).toEqual(expect.arrayContaining([first.jobId, third.jobId]));
    expect(await files()).toEqual([]);
  });

  it('leaves no file, and no open one, when it cannot make sure that the name of the file is on disk', async () => {
    const failing = async () => {
      throw new Error('no file descriptors');
    };
    await expect(openSegment(directory, 'mine.spool', failing)).rejects.toThrow('no file descriptors');
    expect(await files()).toEqual([]);
  });

  it('keeps a file that cannot be read at the moment, replays the others, and replays it when it can', async () => {
    const spool = aSpool();
    const [kept, other] = [anEntry(), anEntry()];
    await spool.append(kept);
    await expect(spool.replay(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
    const [name = ''] = await files();
    await spool.append(other);
    await rename(join(directory, name), join(directory, 'aside'));
    await symlink(name, join(directory, name));
    expect(await replayed(spool)).toEqual([other]);
    expect(spool.hasEntries()).toBe(true);
    await rename(join(directory, 'aside'), join(directory, name));
    expect(await replayed(spool)).toEqual([kept]);
    expect(await files()).toEqual([]);
  });

  it('skips bytes that are corrupt on disk, and keeps the file for inspection', async () => {
    const spool = aSpool();
    const entries = [anEntry('["first"]'), anEntry('["second"]'), anEntry('["third"]')];
    for (const entry of entries) await spool.append(entry);
    const [name = ''] = await files();
    const path = join(directory, name);
    await writeFile(path, (await readFile(path, 'utf8')).replace('["second"]', '["sEcond"]'));
    expect((await replayed(spool)).map(({ rows }) => rows)).toEqual(['["first"]', '["third"]']);
    expect(await files()).toEqual([`${name}.damaged`]);
  });

  it('keeps a file whose corrupt bytes were skipped before the replay was interrupted', async () => {
    const spool = aSpool();
    const entries = Array.from({ length: 50 }, (_, index) => anEntry(`["number ${index}."]`));
    for (const entry of entries) await spool.append(entry);
    const [name = ''] = await files();
    const path = join(directory, name);
    await writeFile(path, (await readFile(path, 'utf8')).replace('["number 3."]', '["nUmber 3."]'));
    const sent: SpoolEntry[] = [];
    const failing = spool.replay(async (chunk) => {
      if (sent.length > 0) throw new Error('redis is full');
      sent.push(...chunk);
    });
    await expect(failing).rejects.toThrow('redis is full');
    expect([...sent, ...(await replayed(spool))]).toEqual(entries.filter((_, index) => index !== 3));
    expect(await files()).toEqual([`${name}.damaged`]);
  });

  it('refuses an entry that would exceed its limit, and accepts more once it has been replayed', async () => {
    const spool = aSpool({ bytesMax: 3000 });
    const big = 'x'.repeat(2000);
    await spool.append(anEntry(big));
    await expect(spool.append(anEntry(big))).rejects.toThrow(SpoolFullError);
    await replayed(spool);
    await expect(spool.append(anEntry(big))).resolves.toBeUndefined();
  });

  it('rejects an entry when its directory cannot be written', async () => {
    await appendFile(join(directory, 'a-file'), '');
    const spool = aSpool({ directory: join(directory, 'a-file', 'below') });
    await expect(spool.append(anEntry())).rejects.toThrow();
    opened.pop();
  });

  it('takes entries as soon as its directory can be made', async () => {
    const place = join(directory, 'a-file');
    await appendFile(place, '');
    const spool = aSpool({ directory: join(place, 'below') });
    await expect(spool.append(anEntry())).rejects.toThrow();
    await rm(place);
    const entry = anEntry();
    await spool.append(entry);
    expect(await replayed(spool)).toEqual([entry]);
  });
});
