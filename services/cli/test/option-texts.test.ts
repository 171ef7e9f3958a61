import { expect, it } from 'vitest';
import { parseCommandLine } from '../src/command-line.js';
import { runCommand } from './run-cli.js';

function parsed(...words: string[]) {
  const { args, options } = parseCommandLine(['node', 'waymark', ...words]);
  const { '--': _rest, ...given } = options;
  return { args, options: given };
}

it('options and arguments keep their texts, also those of repeated options', () => {
  const tags = ['--tags', '007', '--tags', '1e3', '--tags', '', '--tags=-', '--tags', 'x'];
  const others = ['--domain=', '--domain', '0x10', '--log', '-', '--timezone=-5', '--dry-run', '--linkId', '007'];
  expect(parsed('import', 'csv', '-', ...tags, ...others)).toEqual({
    args: ['csv', '-'],
    options: {
      ...{ tags: ['007', '1e3', '', '-', 'x'], domain: ['', '0x10'], log: '-', timezone: '-5', dryRun: true },
      linkId: '007',
    },
  });
});

it('numbers among the arguments, and lists of one text, are texts', () => {
  expect(parsed('dead-letters', 'replay', '7', '08')).toMatchObject({ args: ['7', '08'] });
  expect(parsed('export', 'events', '--link-id', '0', '--limit', '010').options).toMatchObject({
    ...{ linkId: '0', limit: '010' },
  });
});

it.each(['tags', 'domain'])('an empty text in a repeated --%s is refused, as a single one is', async (name) => {
  const { code, stderr } = await runCommand(
    { INSTANCE_KEY: 'ab'.repeat(32) },
    ...['import', 'csv', 'links.csv', '--workspace', 'acme', `--${name}`, '', `--${name}`, 'x'],
  );
  expect([code, stderr]).toEqual([1, `waymark: --${name} needs a value\n`]);
});
