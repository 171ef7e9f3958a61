export * from './limited-network.js';
export * from './rate-limiter.js';
