import { existsSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LONG_FILES } from './long-files.js';

const PROJECTS = ['system', 'measured', 'unit', 'stores'];

/** Runs long files first, so that at the end no worker runs a long file while the others are idle. */
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
    const place = ({ project, moduleId }: TestSpecification) => {
      const index = LONG_FILES.findIndex((path) => moduleId.endsWith(`/${path}`));
      return PROJECTS.indexOf(project.name) * (LONG_FILES.length + 1) + (index === -1 ? LONG_FILES.length : index);
    };
    return sorted.toSorted((one, other) => place(one) - place(other));
  }
}
