// Prints the last line, `N passed, N failed, N skipped`, from vitest's JSON reports, and exits with 1 unless everything passed.
// usage: test-summary.mjs <report> <number of checks that failed, the tests included> [<report of the files that ran again>]
import { readFileSync } from 'node:fs';

const [, , reportPath, brokenChecks, secondPath] = process.argv;

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { testResults: [], success: false };
  }
}

const report = readReport(reportPath);
const second = secondPath === undefined ? undefined : readReport(secondPath);
const secondResults = new Map(second?.testResults.map((file) => [file.name, file]));
const results = report.testResults.map((file) => secondResults.get(file.name) ?? file);

const counts = { passed: 0, failed: 0, skipped: 0 };
for (const file of results) {
  const failedBefore = counts.failed;
  for (const { status } of file.assertionResults) {
    counts[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1;
  }
  // A file that could not be loaded, or whose set-up failed, has no failed test in the report.
  if (file.status === 'failed' && counts.failed === failedBefore) counts.failed += 1;
}

for (const { name, assertionResults } of report.testResults) {
  if (!secondResults.has(name)) continue;
  const failed = assertionResults.filter(({ status }) => status === 'failed');
  for (const { fullName } of failed) console.log(`failed at first, ran again alone: ${fullName} (${name})`);
}
const isGreen =
  (second ?? report).success === true && Number(brokenChecks) === 0 && counts.failed === 0 && counts.passed > 0;
if (!isGreen && counts.failed === 0) counts.failed = Math.max(1, Number(brokenChecks));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(isGreen ? 0 : 1);
