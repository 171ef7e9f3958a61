import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

/** One line of the report. */
export interface ReportLine {
  readonly scenario: string;
  readonly events: number;
  /** The injected faults, such as `8 × writer`. */
  readonly faults: string;
  readonly lost: number;
  readonly twice: number;
  readonly viewsEqual: boolean;
}

const FILE = new URL('./REPORT.md', import.meta.url);
const TITLE = `# Faults

Written by \`npm run faults\`. Events are those whose caller was answered with success; lost: not in ClickHouse; twice: there more
than once; views equal: every counter equals its count over the base tables, key by key.

A section is what the tests were at its date, and may lack scenarios that they have got since; a file without a section has not been run in
its long form since it writes one. These six write sections: \`write-path-edges\`, \`write-path-kills\`, \`write-path-memory\`, and in
\`cluster\` \`redis-failovers\`, \`queue-shards\` and \`api-failovers\` ("The API, Redis failed over"). The other files of this folder
only pass or fail.
`;

function table(lines: readonly ReportLine[]): string {
  const rows = lines.map(
    ({ scenario, events, faults, lost, twice, viewsEqual }) =>
      `| ${scenario} | ${events} | ${faults} | ${lost} | ${twice} | ${viewsEqual ? 'yes' : 'NO'} |`,
  );
  return ['| scenario | events | faults | lost | twice | views equal |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

/** Replaces one section of test/faults/REPORT.md. Each test file has its own section, so that it can run alone. */
export function writeReportSection(section: string, lines: readonly ReportLine[]): void {
  const before = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
  const sections = new Map(
    before
      .split(/^## /m)
      .slice(1)
      .map((text) => [text.slice(0, text.indexOf('\n')), text.slice(text.indexOf('\n')).trim()]),
  );
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? 'cpu'}, ${Math.round(totalmem() / 1e9)} GB, Node ${process.version}`;
  sections.set(section, `${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${table(lines)}`);
  const body = [...sections].map(([name, text]) => `## ${name}\n\n${text}\n`);
  writeFileSync(FILE, [TITLE, ...body].join('\n'));
}
