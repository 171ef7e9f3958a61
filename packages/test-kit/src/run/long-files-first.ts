import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LONG_FILES } from './long-files.js';
import { TOGETHER, testFiles } from './test-projects.js';

const PROJECTS = ['system', 'measured', 'unit', 'stores'];

/**
 * Runs long files first, so that at the end no worker runs a long file while the others are idle. Where the projects run together,
 * their files alternate too: those of the system wait for failovers and timers while those of stores need the processor.
 */
export class LongFilesFirst extends BaseSequencer {
  /**
   * Within a project: the listed files, then the slowest of the previous run, or else the largest.
   *
   * @throws Error for a listed file that does not exist
   */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const missing = LONG_FILES.filter((path) => !existsSync(path));
    if (missing.length > 0) throw new Error(`long-files.ts lists files that do not exist: ${missing.join(', ')}`);
    const isTogether = sorted.some(({ project }) => project.name === TOGETHER);
    const place = ({ project, moduleId }: TestSpecification) => {
      const index = LONG_FILES.findIndex((path) => moduleId.endsWith(`/${path}`));
      const ofProject = isTogether ? 0 : PROJECTS.indexOf(project.name);
      return ofProject * (LONG_FILES.length + 1) + (index === -1 ? LONG_FILES.length : index);
    };
    const placed = sorted.toSorted((one, other) => place(one) - place(other));
    return isTogether ? alternated(placed) : placed;
  }
}

/** The files of the system, spread evenly among the others. Both keep their order. */
function alternated(files: readonly TestSpecification[]): TestSpecification[] {
  const projects = testFiles();
  const isOfSystem = ({ moduleId }: TestSpecification) =>
    ['system', 'measured'].includes(projects.get(relative('.', moduleId)) ?? '');
  const spread = (some: readonly TestSpecification[]) =>
    some.map((file, index) => ({ file, share: (index + 0.5) / some.length }));
  return [...spread(files.filter(isOfSystem)), ...spread(files.filter((file) => !isOfSystem(file)))]
    .sort((one, other) => one.share - other.share)
    .map(({ file }) => file);
}
