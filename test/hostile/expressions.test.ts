import { describe, expect, it, vi } from 'vitest';
import { type Cost, slowAttack } from './lib/cpu-cost.js';
import { expressionsOf, sourceFiles } from './lib/expressions.js';

// Regular expressions run on the main thread: one that backtracks for a second blocks the service for a second.
// All expressions are tested with long texts, not only those that are applied to requests today.

const CPU_MS_MAX = 50;
vi.setConfig({ testTimeout: 120_000 });

describe('the attacks', () => {
  it.each([
    /^\/+|\/+$/g,
    /\s*\[\]$/,
    /^-+|-+$/g,
    /\((.*)\)$/,
    /\$\{(\w+)(?::([^}]*))?\}/g,
    / TTL (.*?) SETTINGS /,
    /`ip` String TTL ([^,]*?\(\d+\))/,
    /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/,
    /<link[^>]*href="https?:[^>]*>/g,
    /^(?:[\w\u0080-\ud7ff]|\p{Extended_Pictographic})*$/u,
    /^(?:a|ab|b)+$/,
    /^(\w+\s?)*$/,
    /^key=(?:[a-z]+|[a-m]+)*;/,
    /(?:foo|foofoo)+$/,
  ])('%s is found to be slow', (expression) => {
    expect(slowAttack(expression, CPU_MS_MAX)).toBeDefined();
  });

  it.each([/^\s+/, /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/, /[^\p{Letter}]+/gu])(
    '%s is fast, and recognised as fast',
    (expression) => {
      expect(slowAttack(expression, CPU_MS_MAX)).toBeUndefined();
    },
  );
});

describe('every expression of the sources takes linear time', () => {
  /** By expression, because some are in several files. */
  const costs = new Map<string, Cost | undefined>();
  const costOf = (expression: RegExp) => {
    const name = String(expression);
    if (!costs.has(name)) costs.set(name, slowAttack(expression, CPU_MS_MAX));
    return costs.get(name);
  };
  const files = sourceFiles().map((file) => ({ file, expressions: expressionsOf(file) }));

  it.each(files.filter(({ expressions }) => expressions.length > 0))('$file', ({ expressions }) => {
    const slow = expressions.flatMap(({ line, expression }) => {
      const cost = costOf(expression);
      return cost === undefined ? [] : [{ line, expression: String(expression), ...cost }];
    });
    expect(slow).toEqual([]);
  });
});
