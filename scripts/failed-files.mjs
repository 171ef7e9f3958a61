// Prints the test files that failed, one a line, if they may run a second time. Exits with 1 if none may.
// usage: failed-files.mjs <report> <file with the number of errors that belong to no test>
//
// The tests of a whole run compete for few cores, and some check time limits. A few files that failed are run again with nothing
// beside them, and count if they fail again. Fault tests are not: a lost or doubled event is never a matter of load.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const FILES_MAX = 3;
const NEVER_AGAIN = /^test\/faults\//;

const unhandledErrors = Number(readFileSync(process.argv[3], 'utf8'));
if (unhandledErrors > 0) process.exit(1);

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative('.', name));
if (failed.length === 0 || failed.length > FILES_MAX || failed.some((path) => NEVER_AGAIN.test(path))) process.exit(1);
console.log(failed.join('\n'));
