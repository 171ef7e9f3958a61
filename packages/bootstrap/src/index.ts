export { runServiceProcess } from './run-service-process.js';
export { type ServiceBase, type ServiceBaseOptions, startServiceBase } from './service-base.js';
export { untilConnected } from './until-connected.js';
