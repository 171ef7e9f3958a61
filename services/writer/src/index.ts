export { startWriter } from './writer-service.js';
