import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const [, declared = ''] =
  /environmentSchema = z\.object\(\{\n([\s\S]*?)\n\}\);/.exec(
    readFileSync('packages/config/src/settings.ts', 'utf8'),
  ) ?? [];
/** The text of the default of every setting that has one. */
const defaults = declared.split(/\n+(?= {2}[A-Z])/).flatMap((declaration): [string, string][] => {
  const [, name = ''] = /^ *([A-Z\d_]+):/.exec(declaration) ?? [];
  const [, value] = /\.(?:default|prefault)\('?(.*?)'?\)/.exec(declaration) ?? [];
  return value === undefined || value === '' ? [] : [[name, value.replaceAll('_', '')]];
});
/** The cells of the rows of docs/settings.md with the settings in backquotes in their first cell. */
const rows = readFileSync('docs/settings.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(' | '));

test('docs/settings.md is compared with the defaults of all settings', () => {
  expect(defaults.length).toBeGreaterThan(15);
  expect(Object.fromEntries(defaults)).toMatchObject({ API_PORT: '3000', DATA_DIR: './data', LOG_LEVEL: 'info' });
});

test.each(defaults)('docs/settings.md has the default of %s: %s', (name, value) => {
  const row = rows.find(([names = '']) => names.includes(`\`${name}\``));
  // A setting without a row is described, with its default in parentheses, in the row of another one.
  const described = row === undefined ? rows.flat().find((cell) => cell.includes(`\`${name}\` (`)) : row[1];
  const written = row === undefined ? described?.split(`\`${name}\` (`)[1]?.split(')')[0] : described?.split(' ')[0];
  expect(written).toBe(value);
});
