import { setFlagsFromString } from 'node:v8';

/**
 * How much garbage the heap may hold while long work runs, as a percentage of what is in use. Exports and imports make hundreds of megabytes
 * of it a second, and V8 would let the heap grow by twice what is in use before it collects. Zero leaves that to V8.
 */
const GARBAGE_PERCENT = 50;

let running = 0;

function setPercent(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/** Limits the garbage of the process until the returned function is called, which may be called more than once. */
export function limitGarbage(): () => void {
  if (running++ === 0) setPercent(GARBAGE_PERCENT);
  let isEnded = false;
  return () => {
    if (isEnded) return;
    isEnded = true;
    if (--running === 0) setPercent(0);
  };
}
