import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { keepFirstKey } from '../../src/first-key.js';
import { nextSteps, showNextSteps } from '../../src/next-steps.js';

const PLACE = {
  api: 'http://127.0.0.1:3000',
  links: 'http://127.0.0.1:3001',
  domain: 'localhost',
  dataDir: 'data',
  suffix: '',
};

it('a terminal shows the key of the first workspace, in every command that needs it', () => {
  const text = nextSteps({ ...PLACE, apiKey: 'dub_key', apiKeyFile: undefined });
  expect(text.split('Bearer dub_key').length).toBe(8);
  expect(text).toContain('shown this once');
});

it('a log does not contain the key: the commands read it from its file', () => {
  const text = nextSteps({ ...PLACE, apiKey: 'dub_key', apiKeyFile: '/data/first-api.key' });
  expect(text).not.toContain('dub_key');
  expect(text.split("Bearer $(cat '/data/first-api.key')").length).toBe(8);
});

it('later starts refer to an environment variable for the key', () => {
  const text = nextSteps({ ...PLACE, apiKey: undefined, apiKeyFile: undefined });
  expect(text.split('Bearer $WAYMARK_KEY').length).toBe(8);
});

it('a later start shows where the key of the first workspace is, if it is still in its file', () => {
  const text = nextSteps({ ...PLACE, apiKey: undefined, apiKeyFile: '/data/first-api.key' });
  expect(text).toContain("export WAYMARK_KEY=$(cat '/data/first-api.key')");
  expect(text.split('Bearer $WAYMARK_KEY').length).toBe(8);
});

it('the commands find the files of a directory with any characters in its name', () => {
  const dataDir = join(temporaryDirectory('waymark-steps-'), `o'brien "a" $HOME ü`);
  mkdirSync(join(dataDir, 'run'), { recursive: true });
  const apiKeyFile = join(dataDir, 'first-api.key');
  writeFileSync(apiKeyFile, 'dub_key');
  const text = nextSteps({ ...PLACE, dataDir, apiKey: 'dub_key', apiKeyFile });
  const commands = text.split('\n').filter((line) => line.trimStart().startsWith('curl '));
  const outputs = commands.map((line) =>
    execFileSync('bash', ['-c', `curl() { printf '%s\\n' "$@"; }; ${line}`], { encoding: 'utf8' }),
  );
  expect(outputs.filter((output) => output.includes('Bearer dub_key'))).toHaveLength(7);
  expect(readFileSync(join(dataDir, 'run/click-id'), 'utf8')).toContain('/try');
});

/** Prints the steps of a start on a directory that has the key of the first workspace in a file. */
function shown(isTerminal: boolean, apiKey: string | undefined) {
  const dataDir = temporaryDirectory('waymark-steps-');
  const file = join(dataDir, 'first-api.key');
  keepFirstKey(dataDir, 'dub_key');
  let text = '';
  let wasInFile = false;
  const print = (line: string) => {
    text += line;
    wasInFile = existsSync(file);
  };
  showNextSteps({ ...PLACE, dataDir, apiKey }, { isTerminal, print });
  return { hasKey: text.includes('dub_key'), namesFile: text.includes(file), wasInFile, isInFile: existsSync(file) };
}

it('a key that a terminal has shown is in no file any more', () => {
  expect(shown(true, 'dub_key')).toEqual({ hasKey: true, namesFile: false, wasInFile: true, isInFile: false });
});

it('a key that was not shown stays in its file: without a terminal, and when a later start did not create it', () => {
  const kept = { hasKey: false, namesFile: true, wasInFile: true, isInFile: true };
  expect(shown(false, 'dub_key')).toEqual(kept);
  expect(shown(true, undefined)).toEqual(kept);
});
