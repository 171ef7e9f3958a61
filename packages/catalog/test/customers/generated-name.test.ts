import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { generatedName } from '../../src/customers/generated-name.js';

const NAMES = Array.from({ length: 2000 }, (_, number) => generatedName(`cus_${number}`));

it('every generated name is an adjective and an animal', () => {
  expect(NAMES.filter((name) => !/^[A-Z][a-z]+ [A-Z][a-z]+$/.test(name))).toEqual([]);
});

it('a customer keeps the generated name in every release', () => {
  expect(NAMES.slice(0, 3)).toEqual(['Eager Leopard', 'Mighty Caribou', 'Quiet Finch']);
  expect(createHash('sha256').update(NAMES.join()).digest('hex')).toBe(
    '583e594a16b498547a43b920375ea7f173f75ef40e604120b6204c1b96232465',
  );
});
