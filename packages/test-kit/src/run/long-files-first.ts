import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ORDER = ['system', 'measured', 'unit', 'stores'];

/** Runs long files first, so that at the end no worker runs a long file while the others are idle. */
export class LongFilesFirst extends BaseSequencer {
  /** Within a project, vitest starts with the slowest files of the previous run, or else the largest. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project }: TestSpecification) => ORDER.indexOf(project.name);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
