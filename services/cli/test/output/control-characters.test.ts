import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { standardOutputOf } from '../../src/export/export-output.js';
import { escapeControls, printMessage, printResult } from '../../src/output.js';

const CLEAR_SCREEN = ['\u001b[2J', '\u009b2J'];

/** Texts of visitors and customers, also with control characters. */
const text = fc.string({ unit: 'binary' });

afterEach(() => void vi.restoreAllMocks());

it('a terminal shows the control sequences of a printed text instead of executing them', () => {
  const printed: string[] = [];
  for (const method of ['log', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((line: unknown) => void printed.push(String(line)));
  }
  for (const name of CLEAR_SCREEN) {
    printResult({ data: { name }, lines: [`NAME\t${name}`] }, true);
    printResult({ data: { name }, lines: [`NAME\t${name}`] }, false);
    printMessage(name);
  }

  expect(printed).toEqual([
    '{\n  "name": "\\u001b[2J"\n}',
    'NAME\t\\u001b[2J',
    '\\u001b[2J',
    '{\n  "name": "\\u009b2J"\n}',
    'NAME\t\\u009b2J',
    '\\u009b2J',
  ]);
});

it('an export on a terminal shows them, also a character that two parts divide', async () => {
  const printed: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.push(Buffer.from(text).toString());
    return true;
  });
  const { isTTY } = process.stdout;
  process.stdout.isTTY = true;
  try {
    const output = standardOutputOf(new AbortController().signal);
    const bytes = Buffer.from('name\r\n\u001b[2J,\u009b2J\r\n');
    for (const byte of bytes) await output.write(Buffer.of(byte));
  } finally {
    process.stdout.isTTY = isTTY;
  }
  expect(printed.join('')).toBe('name\n\\u001b[2J,\\u009b2J\n');
});

it('escaped JSON has no control characters, and parses to the same value', () => {
  fc.assert(
    fc.property(fc.array(text), (texts) => {
      const json = escapeControls(JSON.stringify(texts));
      expect(json).not.toMatch(/\p{Cc}/u);
      expect(JSON.parse(json)).toEqual(texts);
    }),
  );
});
