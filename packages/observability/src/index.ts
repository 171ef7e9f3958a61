export {
  type ComponentWatch,
  startComponentWatch,
} from './components/component-watch.js';
export { createInstanceRegistry, type Instance } from './components/instance-registry.js';
export type { ComponentStatus } from './components/service-states.js';
export { type DiskNeed, diskShortage, fullDisk } from './free-space.js';
export { metricsRoute, requestCountPlugin } from './metrics/metrics-plugin.js';
export { type Operations, type OperationsOptions, startOperations } from './operations.js';
export { startTracing } from './tracing/start-tracing.js';
export type { Tracing } from './tracing/tracing.js';
