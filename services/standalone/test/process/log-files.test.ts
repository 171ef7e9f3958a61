import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { openLog, shortenLogs } from '../../src/data-dir/log-files.js';

it('a log of a running process is shortened, keeps its lines once more, and gets the next ones', async () => {
  const dataDir = temporaryDirectory('waymark-logs-');
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const { file, fd } = openLog(dataDir, 'it');
  const script = "process.stdin.on('data', (text) => process.stdout.write(text))";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', fd, 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const log = () => readFileSync(file, 'utf8');
  const write = async (line: string) => {
    child.stdin?.write(line);
    await waitFor(() => log().endsWith(line), { what: 'the line in the log' });
  };
  await write('first\n');
  await shortenLogs(dataDir, 10);
  expect(readdirSync(`${dataDir}/logs`)).toEqual(['it.log']);

  await write('second\n');
  await shortenLogs(dataDir, 10);
  await write('third\n');
  expect([readFileSync(`${file}.old`, 'utf8'), log()]).toEqual(['first\nsecond\n', 'third\n']);
  expect([file, `${file}.old`].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
});
