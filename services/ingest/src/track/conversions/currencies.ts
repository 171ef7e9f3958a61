import { readFileSync } from 'node:fs';
import { openReloadedFile, type ReloadOptions } from '@waymark/config';
import { fieldError } from '@waymark/contract';
import { z } from 'zod';

/** An amount in minor units of its currency, or in whole units for a currency without minor units. */
export interface Money {
  readonly amount: number;
  /** Lower case. */
  readonly currency: string;
}

export interface CurrencyConverter {
  /** The amount in cents of USD; unchanged when there is no rate for the currency. */
  toUsd(money: Money): Money;
  close(): void;
}

/** Currencies without minor units. */
const ZERO_DECIMAL: ReadonlySet<string> = new Set(
  'bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'.split(' '),
);

/** Units per US dollar by currency code; or the same inside `rates`, the format of rate services. */
const ratesSchema = z.record(z.string(), z.number().positive());
const fileSchema = z.union([z.object({ rates: ratesSchema }).transform(({ rates }) => rates), ratesSchema]);

type Rates = ReadonlyMap<string, number>;
const NO_RATES: Rates = new Map();

function readRates(file: string): Rates {
  const rates = fileSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  return new Map(Object.entries(rates).map(([code, rate]) => [code.toLowerCase(), rate]));
}

/** Converts by a table of rates. */
export function convertToUsd({ amount, currency }: Money, rates: Rates): Money {
  const rate = currency === 'usd' ? undefined : rates.get(currency);
  if (rate === undefined) return { amount, currency };
  const cents = Math.round((amount * (ZERO_DECIMAL.has(currency) ? 100 : 1)) / rate);
  if (!Number.isSafeInteger(cents)) {
    throw fieldError('too_big', 'amount', 'must be small enough to be converted to USD');
  }
  return { amount: cents, currency: 'usd' };
}

export interface CurrencyOptions extends ReloadOptions {
  /** JSON file; without it amounts are not converted. */
  readonly ratesFile: string | undefined;
  /** Called once for each currency without a rate, whose amounts are not converted. */
  readonly onUnknown?: (currency: string) => void;
}

/**
 * Reads the file of exchange rates and reloads it when it changes, so that a daily job can replace it.
 *
 * @throws Error when the file cannot be read at the start
 */
export function createCurrencyConverter(options: CurrencyOptions): CurrencyConverter {
  const { ratesFile: file, onUnknown } = options;
  // Bounded: currency codes have three letters.
  const unknown = new Set<string>();
  const convert = (money: Money, rates: Rates): Money => {
    const { currency } = money;
    if (currency !== 'usd' && !rates.has(currency) && !unknown.has(currency)) {
      unknown.add(currency);
      onUnknown?.(currency);
    }
    return convertToUsd(money, rates);
  };
  if (file === undefined) return { toUsd: (money) => convert(money, NO_RATES), close: () => {} };

  const rates = openReloadedFile(file, readRates, options);
  return { toUsd: (money) => convert(money, rates.current()), close: rates.close };
}
