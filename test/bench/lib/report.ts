import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';

/** A line that describes the machine of the measurement. */
export function machineLine(): string {
  const redis = /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1];
  const cores = cpus();
  return `${cores.length} × ${cores[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, Redis ${redis}`;
}

/** Prints a Markdown table, to be copied into the report unchanged. */
export function printTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  console.log(`| ${head.join(' | ')} |\n|${head.map(() => '---').join('|')}|`);
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
}
