import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';

it.each(['x-export-range', 'X-Export-Range'])(
  'the example of a continued export reads its range from the header %s',
  (name) => {
    const page = readFileSync(new URL('../../docs/reference/exports.md', import.meta.url), 'utf8');
    const command = /^RANGE=.*$/m.exec(page)?.[0] ?? '';
    const directory = temporaryDirectory('waymark-export-example-');
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const range = 'start=2026-01-01T00:00:00.000Z&end=2026-02-01T00:00:00.000Z';
    writeFileSync(join(directory, 'headers'), `HTTP/1.1 200 OK\r\n${name}: ${range}\r\nvary: accept-encoding\r\n\r\n`);
    const read = execFileSync('sh', ['-c', `${command}; printf %s "$RANGE"`], { cwd: directory, encoding: 'utf8' });
    expect(read).toBe(range);
  },
);
