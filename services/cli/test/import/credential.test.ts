import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { readCredential } from '../../src/import/credential.js';

it('the question for an API key that is interrupted ends the command as interrupted', async () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => terminal });
  const spies = [
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(terminal as unknown as typeof process.stdin),
    vi.spyOn(process.stderr, 'write').mockReturnValue(true),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  const reading = readCredential(undefined, 'bitly');
  terminal.write('\u0003');
  await expect(reading).rejects.toThrow('interrupted');
});
