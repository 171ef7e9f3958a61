import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createParser } from '../src/command-line.js';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/command-line.md'), 'utf8');
/** Options of `tail` and `export` that stand for the parameters of a request. */
const OF_PARAMETER = /^The parameter /;

const commands = createParser().commands.filter(({ name }) => name !== '');
const inBackquotes = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** The rows of the table: their commands, and the options in their second cell. */
const rows = PAGE.split('\n')
  .filter((line) => line.startsWith('| `npx waymark'))
  .map((line) => {
    const [, first = '', second = ''] = line.replaceAll('\\|', '').split('|');
    const words = inBackquotes(first).map((code) => code.replace('npx waymark ', ''));
    const named = commands.filter(({ name }) => words.some((word) => `${word} `.startsWith(`${name} `)));
    return {
      first: first.trim(),
      named,
      options:
        inBackquotes(second)
          .join(' ')
          .match(/--[a-z-]+/g) ?? [],
    };
  });

describe('docs/command-line.md', () => {
  it('has every command', () => {
    const documented = rows.flatMap(({ named }) => named.map(({ name }) => name));
    expect(documented.sort()).toEqual(commands.map(({ name }) => name).sort());
  });

  it.each(rows)('has the options of $first', ({ named, options }) => {
    const actual = named.flatMap((command) => command.options);
    const own = actual.filter(({ description }) => !OF_PARAMETER.test(description));
    const flagOf = ({ rawName }: { readonly rawName: string }) => rawName.split(' ')[0] ?? '';
    const documented = new Set<string>(options);
    // A workspace that is an argument may be given as the option, too.
    const argument = named.some(({ rawName }) => rawName.includes('[workspace]')) ? ['--workspace'] : [];
    expect([...own.map(flagOf)].filter((flag) => !documented.has(flag) && !argument.includes(flag))).toEqual([]);
    expect([...documented].filter((flag) => !actual.map(flagOf).includes(flag))).toEqual([]);
  });
});
