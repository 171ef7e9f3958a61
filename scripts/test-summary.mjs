// Prints the last line, `N passed, N failed, N skipped`, from vitest's JSON report, and exits with 1 unless everything passed.
// usage: test-summary.mjs <report> <number of checks that failed, the test run itself included>
import { readFileSync } from 'node:fs';

const [, , reportPath, brokenChecks] = process.argv;

function readReport() {
  try {
    return JSON.parse(readFileSync(reportPath, 'utf8'));
  } catch {
    return { testResults: [], success: false };
  }
}

const report = readReport();
const counts = { passed: 0, failed: 0, skipped: 0 };
for (const file of report.testResults) {
  const failedBefore = counts.failed;
  for (const { status } of file.assertionResults) {
    counts[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1;
  }
  // A file that could not be loaded, or whose set-up failed, has no failed test in the report.
  if (file.status === 'failed' && counts.failed === failedBefore) counts.failed += 1;
}

const isGreen = report.success === true && Number(brokenChecks) === 0 && counts.failed === 0 && counts.passed > 0;
if (!isGreen && counts.failed === 0) counts.failed = Math.max(1, Number(brokenChecks));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(isGreen ? 0 : 1);
