import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { convertToUsd, createCurrencyConverter } from '../../src/track/conversions/currencies.js';

const directory = mkdtempSync(join(tmpdir(), 'currencies-'));
afterAll(() => rmSync(directory, { recursive: true }));

const rates = new Map([
  ['eur', 0.92],
  ['jpy', 155.5],
  ['krw', 1380],
  ['vnd', 200],
]);

describe('currencies', () => {
  it.each([
    ['eur', 1000, 1087],
    ['jpy', 1000, 643],
    ['krw', 50_000, 3623],
    ['eur', 0, 0],
    // 14.5 and 57.5 cents, which no earlier rounding may make less.
    ['vnd', 29, 15],
    ['vnd', 115, 58],
  ])('%s %i is %i cents', (currency, amount, cents) => {
    expect(convertToUsd({ amount, currency }, rates)).toEqual({ amount: cents, currency: 'usd' });
  });

  it.each('bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'.split(' '))(
    'an amount of %s is in whole units, because the currency has no cents',
    (currency) => {
      expect(convertToUsd({ amount: 300, currency }, new Map([[currency, 2]]))).toEqual({
        amount: 15_000,
        currency: 'usd',
      });
    },
  );

  it.each(['eur', 'gbp', 'huf', 'isk', 'twd', 'bhd', 'kwd', 'tnd'])('an amount of %s is in hundredths', (currency) => {
    expect(convertToUsd({ amount: 300, currency }, new Map([[currency, 2]]))).toEqual({ amount: 150, currency: 'usd' });
  });

  it('does not convert USD and currencies without a rate', () => {
    expect(convertToUsd({ amount: 5, currency: 'usd' }, new Map([['usd', 2]]))).toEqual({ amount: 5, currency: 'usd' });
    expect(convertToUsd({ amount: 5, currency: 'chf' }, rates)).toEqual({ amount: 5, currency: 'chf' });
  });

  it('reports a currency without a rate once', () => {
    const onUnknown = vi.fn();
    const { toUsd } = createCurrencyConverter({ ratesFile: undefined, onUnknown, onReloadError: () => {} });
    for (const currency of ['usd', 'chf', 'eur', 'chf']) expect(toUsd({ amount: 5, currency }).currency).toBe(currency);
    expect(onUnknown.mock.calls).toEqual([['chf'], ['eur']]);
  });

  it('rejects an amount that is not a safe integer in USD', () => {
    const tiny = new Map([['jpy', 0.001]]);
    expect(() => convertToUsd({ amount: Number.MAX_SAFE_INTEGER, currency: 'jpy' }, tiny)).toThrow(
      expect.objectContaining({ status: 422 }),
    );
  });

  it('reads a file of rates, reloads it, and keeps the previous rates when the new file is invalid', async () => {
    const ratesFile = join(directory, 'rates.json');
    writeFileSync(ratesFile, JSON.stringify({ base: 'USD', rates: { EUR: 0.5 } }));
    const onReloadError = vi.fn();
    const converter = createCurrencyConverter({ ratesFile, onReloadError, checkIntervalMs: 5 });
    const cents = () => converter.toUsd({ amount: 100, currency: 'eur' }).amount;
    try {
      expect(cents()).toBe(200);
      writeFileSync(ratesFile, '{"EUR": 0}');
      await expect.poll(() => onReloadError).toHaveBeenCalled();
      expect(cents()).toBe(200);
      writeFileSync(ratesFile, '{"EUR": 0.25, "JPY": 150}');
      await expect.poll(cents).toBe(400);
    } finally {
      converter.close();
    }
  });

  it('throws for a file that cannot be read', () => {
    const open = (text: string) => {
      const ratesFile = join(directory, 'bad.json');
      writeFileSync(ratesFile, text);
      return () => createCurrencyConverter({ ratesFile, onReloadError: () => undefined });
    };
    expect(open('no json')).toThrow();
    expect(open('{"EUR": "1"}')).toThrow();
    expect(() => createCurrencyConverter({ ratesFile: join(directory, 'absent'), onReloadError: () => {} })).toThrow();
  });
});
