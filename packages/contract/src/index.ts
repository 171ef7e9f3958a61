import './schema-names.js';

export * from './analytics.js';
export * from './analytics-query.js';
export * from './customer.js';
export * from './domain.js';
export * from './errors.js';
export * from './event.js';
export * from './event-id.js';
export * from './events-query.js';
export * from './link.js';
export * from './link-body.js';
export * from './list-queries.js';
export * from './plans.js';
export * from './query-values.js';
export { randomUInt32 } from './random.js';
export * from './resource-id.js';
export * from './scopes.js';
export * from './track.js';
