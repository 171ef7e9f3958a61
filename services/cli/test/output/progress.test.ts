import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { printStatus } from '../../src/output.js';
import { withProgress } from '../../src/progress.js';

const { isTTY, columns } = process.stderr;
let printed: string;

/** Collects what is written to standard error, which is a terminal of that width, or none. */
function collect(width: number | undefined): void {
  Object.assign(process.stderr, { isTTY: width !== undefined, columns: width });
  const add = (text: unknown) => {
    printed += String(text);
    return true;
  };
  vi.spyOn(process.stderr, 'write').mockImplementation(add);
  vi.spyOn(console, 'error').mockImplementation((text) => void add(`${text}\n`));
}

beforeEach(() => {
  printed = '';
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  Object.assign(process.stderr, { isTTY, columns });
});

const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
/** The lines that a terminal shows: what is drawn over is gone. */
const shown = () => printed.split('\n').map((line) => line.split('\u001b[2K').at(-1));

it('a message replaces the progress on a terminal, which is drawn again below it; its last state stays', async () => {
  collect(60);
  let done = 0;
  const working = withProgress(
    () => ({ share: done / 4, text: `${done} of 4` }),
    async () => {
      await after(300);
      done = 1;
      printStatus('the API does not answer; trying again');
      await after(300);
      done = 4;
    },
  );
  await vi.advanceTimersByTimeAsync(500);
  expect(shown()).toEqual([
    'waymark: the API does not answer; trying again',
    `${'█'.repeat(8)}${'░'.repeat(24)} 1 of 4`,
  ]);
  await vi.advanceTimersByTimeAsync(500);
  await working;
  expect(shown().slice(1)).toEqual([`${'█'.repeat(32)} 4 of 4`, '']);
});

it('a progress that is wider than the terminal is cut off, because the rest of a wrapped line would stay', async () => {
  collect(10);
  await withProgress(
    () => ({ text: '0123456789' }),
    async () => undefined,
  );
  expect(shown()).toEqual(['012345678', '']);
});

it.each([
  [{ isLogged: true }, '1 rows\n2 rows\n'],
  [{}, ''],
])('without a terminal, %j prints what has changed every ten seconds, or nothing', async (options, expected) => {
  collect(undefined);
  const working = withProgress(
    (seconds) => ({ text: `${Math.min(2, Math.floor(seconds / 10))} rows` }),
    () => after(45_000),
    options,
  );
  await vi.advanceTimersByTimeAsync(45_000);
  await working;
  expect(printed).toBe(expected);
});
