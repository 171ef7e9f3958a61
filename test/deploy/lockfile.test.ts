import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './lib/manifests.js';

interface LockedPackage {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const fetched = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && link !== true);

/** Whether npm never installs the package on the platform of deployments, Linux x64 with glibc. */
function isForOthers([path, { optional, os, cpu }]: readonly [string, LockedPackage]): boolean {
  const isElsewhere = os?.includes('linux') === false || cpu?.includes('x64') === false || /musl/.test(path);
  return optional === true && isElsewhere;
}

it('every package that an installation uses has a SHA-512 hash', () => {
  const without = fetched.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? ''));
  expect(without.filter((entry) => !isForOthers(entry)).map(([path]) => path)).toEqual([]);
});

it('every package is fetched from the registry', () => {
  expect(fetched.filter(([, { resolved }]) => /^(git|file|http:)/.test(resolved ?? ''))).toEqual([]);
});
