export { createFairQueue, type FairQueue } from './fair-queue.js';
export * from './limited-network.js';
export * from './rate-limiter.js';
