import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodySizeError } from '../../src/requests/body-size.js';
import { aTestApp } from '../test-app.js';

const MIB = 1024 ** 2;

/** Values of a body, and the levels of its deepest list or object. */
function sizeOf(value: unknown): { values: number; levels: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, levels: 0 };
  const inner = Object.values(value).map(sizeOf);
  return {
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
    levels: 1 + Math.max(0, ...inner.map(({ levels }) => levels)),
  };
}

const isRefused = (text: string, valuesMax: number) => bodySizeError(text, valuesMax * 16)?.message;

describe('a JSON body is measured before it is parsed', () => {
  it('has as many values as when it is parsed, whatever its strings hold', () => {
    const string = fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ',', ']', '}', ' ', 'a', '😀') });
    const { body } = fc.letrec((tie) => ({
      body: fc.oneof(
        { depthSize: 'medium' },
        string,
        fc.integer(),
        fc.constantFrom(true, null),
        fc.array(tie('body')),
        fc.dictionary(string, tie('body')),
      ),
    }));
    fc.assert(
      fc.property(body, fc.constantFrom(0, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const { values } = sizeOf(value);
        expect(isRefused(text, values)).toBeUndefined();
        expect(isRefused(text, values - 1)).toBe(`The request body holds more than ${values - 1} values.`);
      }),
    );
  });

  it('has at most 100 levels', () => {
    expect(bodySizeError('['.repeat(100), MIB)).toBeNull();
    expect(bodySizeError('['.repeat(101), MIB)?.message).toBe('The request body has more than 100 levels.');
    expect(bodySizeError(`[${'{"a":[]},'.repeat(200)}1]`, MIB)).toBeNull();
  });

  it('has at most 20,000 values, and one for 16 bytes where fewer bytes are allowed', () => {
    const list = (values: number) => `[${Array(values - 1).fill('1')}]`;
    expect(bodySizeError(list(20_000), MIB)).toBeNull();
    expect(bodySizeError(list(20_001), MIB)).not.toBeNull();
    expect(bodySizeError(list(8192), 128 * 1024)).toBeNull();
    expect(bodySizeError(list(8193), 128 * 1024)).not.toBeNull();
  });

  it('is refused when it is no JSON at all and goes on and on', () => {
    expect(bodySizeError('{"'.repeat(100_000), MIB)).not.toBeNull();
    expect(bodySizeError('"\\'.repeat(100_000), MIB)).toBeNull();
  });

  it('by every route, so that a large body that is refused takes no time', async () => {
    const { app } = aTestApp({}, (routes) => {
      routes.post('/any', async () => ({}));
    });
    const send = (payload: string) =>
      app.inject({ method: 'POST', url: '/any', headers: { 'content-type': 'application/json' }, payload });
    expect((await send('[1, 2')).json()).toMatchObject({ error: { message: expect.not.stringContaining('values') } });
    const answer = await send(`[${'{},'.repeat(20_000)} no JSON from here on`);
    expect(answer.json()).toMatchObject({ error: { message: 'The request body holds more than 20000 values.' } });
    await app.close();
  });
});
