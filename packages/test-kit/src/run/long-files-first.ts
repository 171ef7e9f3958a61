import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { TOGETHER, testFiles } from './test-projects.js';

const PROJECTS = ['system', 'isolated', 'unit', 'stores'];
/**
 * The seconds of the test files of a whole run that take at least {@link LISTED_SECONDS_MIN}, the longest first, because a fresh clone has no
 * durations of an earlier run. Every `npm run verify` leaves its own in `node_modules/.cache/durations.json`; copy them when they differ much.
 */
const DURATIONS = 'packages/test-kit/src/run/durations.json';
export const LISTED_SECONDS_MIN = 10;

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
    const seconds: Readonly<Record<string, number>> = JSON.parse(readFileSync(DURATIONS, 'utf8'));
    const missing = Object.keys(seconds).filter((path) => !existsSync(path));
    if (missing.length > 0) throw new Error(`${DURATIONS} lists files that do not exist: ${missing.join(', ')}`);
    const isTogether = sorted.some(({ project }) => project.name === TOGETHER);
    const projectOf = ({ project }: TestSpecification) => (isTogether ? 0 : PROJECTS.indexOf(project.name));
    const secondsOf = ({ moduleId }: TestSpecification) => seconds[relative('.', moduleId)] ?? 0;
    const placed = sorted.toSorted(
      (one, other) => projectOf(one) - projectOf(other) || secondsOf(other) - secondsOf(one),
    );
    return isTogether ? alternated(placed) : placed;
  }
}

/** The files of the system, spread evenly among the others. Both keep their order. */
function alternated(files: readonly TestSpecification[]): TestSpecification[] {
  const projects = testFiles();
  const isOfSystem = ({ moduleId }: TestSpecification) =>
    ['system', 'isolated'].includes(projects.get(relative('.', moduleId)) ?? '');
  const spread = (some: readonly TestSpecification[]) =>
    some.map((file, index) => ({ file, share: (index + 0.5) / some.length }));
  return [...spread(files.filter(isOfSystem)), ...spread(files.filter((file) => !isOfSystem(file)))]
    .sort((one, other) => one.share - other.share)
    .map(({ file }) => file);
}
