import { runCommandLine } from './command-line.js';

process.exitCode = await runCommandLine(process.argv);
