import { setFlagsFromString } from 'node:v8';

/**
 * How far the heap may grow beyond the memory in use before V8 collects garbage, in percent of it, while an export or import runs. These
 * make hundreds of megabytes of garbage a second, and V8's own choice, which the value 0 restores, would be about 200 %.
 */
const GARBAGE_PERCENT = 50;

let running = 0;

function setPercent(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/** Limits the garbage on the heap of this process. @returns the function that ends the limit; further calls have no effect */
export function limitGarbage(): () => void {
  if (running++ === 0) setPercent(GARBAGE_PERCENT);
  let isEnded = false;
  return () => {
    if (isEnded) return;
    isEnded = true;
    if (--running === 0) setPercent(0);
  };
}
