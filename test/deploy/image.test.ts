import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { describe, expect, it } from 'vitest';
import { ROOT } from './lib/manifests.js';

const FILE = join(ROOT, 'deploy/docker/Dockerfile');
const text = readFileSync(FILE, 'utf8');
/** Instructions with their arguments, continued lines joined. */
const instructions = text
  .replaceAll(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line))
  .map((line) => line.replaceAll(/\s+/g, ' ').trim());
const all = (name: string) => instructions.filter((line) => line.startsWith(`${name} `));
const lastStage = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));

describe('deploy/docker/Dockerfile', () => {
  it('has no lint errors', () => {
    expect(validate(text)).toEqual([]);
    expect(validate(text.replace('WORKDIR', 'WORKDIRR'))).not.toEqual([]);
  });

  it('uses one base image, with the exact version of .nvmrc', () => {
    const [base, ...stages] = all('FROM');
    const major = readFileSync(join(ROOT, '.nvmrc'), 'utf8').trim().split('.')[0];
    expect(base).toMatch(new RegExp(`^FROM node:${major}\\.\\d+\\.\\d+-bookworm-slim AS base$`));
    expect(stages).toEqual(['FROM base AS build', 'FROM base']);
  });

  it('runs as a non-root user, without build tools', () => {
    expect(lastStage.filter((line) => line.startsWith('USER '))).toEqual(['USER node']);
    expect(lastStage.some((line) => /npm|apt-get|COPY (?!--from=build)/.test(line))).toBe(false);
  });

  it('copies existing paths, and excludes unneeded and secret files from the context', () => {
    for (const copy of lastStage.filter((line) => line.startsWith('COPY '))) {
      expect(existsSync(join(ROOT, / \/app\/(\S+)/.exec(copy)?.[1] ?? ''))).toBe(true);
    }
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    for (const name of ['**/node_modules', '**/dist', '.git', 'data', 'test', '.env']) expect(ignored).toContain(name);
  });

  it('contains the folders that services read at run time', () => {
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    for (const folder of ['clickhouse', 'docs/reference']) {
      expect(lastStage).toContain(`COPY --from=build /app/${folder} ${folder}`);
      for (const part of [folder, folder.split('/')[0]]) expect(ignored).not.toContain(part);
    }
  });

  it('contains every service of the reference deployment, and no test tools', () => {
    const [, services = ''] = /^RUN node scripts\/keep-production\.mjs (.*)$/m.exec(text) ?? [];
    const compose = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
    const started = [...compose.matchAll(/services\/(\w+)\//g)].map(([, name]) => name);
    expect(services.split(' ').sort()).toEqual([...new Set(started)].sort());

    const script = [join(ROOT, 'scripts/keep-production.mjs'), '--list', ...services.split(' ')];
    const kept = execFileSync(process.execPath, script, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
    for (const name of [
      'packages/http-kit',
      'node_modules/@waymark/catalog',
      'node_modules/bullmq',
      'node_modules/zod',
    ]) {
      expect(kept).toContain(name);
    }
    expect(kept.filter((name) => /chdb|vitest|typescript|tsx|test-kit|clickhouse-embedded/.test(name))).toEqual([]);
  });

  it('is reduced to its services in a copy only: a Git checkout, or no services, are refused and nothing is deleted', () => {
    const script = join(ROOT, 'scripts/keep-production.mjs');
    const tree = mkdtempSync(join(tmpdir(), 'waymark-tree-'));
    const reduce = (...services: string[]) => spawnSync(process.execPath, [script, ...services], { cwd: tree }).status;
    const has = (path: string) => existsSync(join(tree, path));
    try {
      const packages = { '': {}, 'services/query': {}, 'services/cli': {}, 'node_modules/unused': {} };
      for (const path of [
        'services/query/dist',
        'services/query/src',
        'services/cli/src',
        'node_modules/unused',
        'packages',
      ])
        mkdirSync(join(tree, path), { recursive: true });
      writeFileSync(join(tree, 'package-lock.json'), JSON.stringify({ packages }));
      expect(reduce()).toBe(1);
      expect(reduce('--lst', 'query')).toBe(1);
      expect(reduce('other')).toBe(1);
      writeFileSync(join(tree, '.git'), 'gitdir: elsewhere');
      expect(reduce('query')).toBe(1);
      for (const path of ['services/query/src', 'services/cli/src', 'node_modules/unused'])
        expect([path, has(path)]).toEqual([path, true]);

      rmSync(join(tree, '.git'));
      expect(reduce('query')).toBe(0);
      expect(has('services/query/dist')).toBe(true);
      for (const path of ['services/query/src', 'services/cli', 'node_modules/unused'])
        expect([path, has(path)]).toEqual([path, false]);
    } finally {
      rmSync(tree, { recursive: true });
    }
  });
});
