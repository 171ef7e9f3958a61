import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ORDER = ['system', 'measured', 'unit', 'stores'];

/** Long files first, so that no worker is left with one when the others have ended. */
export class LongFilesFirst extends BaseSequencer {
  /** Within a project vitest puts those first that took longest in the run before; without such a run the largest. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project }: TestSpecification) => ORDER.indexOf(project.name);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
