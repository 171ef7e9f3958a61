export { openStores, type Stores } from './open-stores.js';
export { runServiceProcess } from './run-service-process.js';
export { type ServiceBase, startServiceBase } from './service-base.js';
export { untilConnected } from './until-connected.js';
