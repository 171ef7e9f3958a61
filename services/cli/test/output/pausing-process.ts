import { whilePaused } from '../../src/backup/while-paused.js';

// Pauses the process whose pid it gets, and blocks until it is killed.

await whilePaused([Number(process.argv[2])], () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
