import type { ProjectName } from './test-projects.js';

/**
 * The order of a run of all files: those that measure first, then those of the system, spread evenly among the others. Each kind keeps its order.
 *
 * A worker that has run a file stops unless the next file of the queue may use it. Files that measure have a process each, so one in the
 * middle of the queue would end a worker that has loaded all libraries.
 */
export function alternated<File>(files: readonly File[], projectOf: (file: File) => ProjectName | undefined): File[] {
  const isOf = (project: ProjectName) => (file: File) => projectOf(file) === project;
  const measured = files.filter(isOf('measured'));
  const system = files.filter(isOf('system'));
  const others = files.filter((file) => !measured.includes(file) && !system.includes(file));
  const spread = (some: readonly File[]) => some.map((file, index) => ({ file, share: (index + 0.5) / some.length }));
  const rest = [...spread(system), ...spread(others)].sort((one, other) => one.share - other.share);
  return [...measured, ...rest.map(({ file }) => file)];
}
