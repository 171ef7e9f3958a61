export { Engine } from './engine/engine.js';
export { loadNativeEngine } from './engine/native.js';
export type { Statement } from './engine/statement.js';
export { createEmbeddedServer } from './http/server.js';
export {
  embeddedCommand,
  embeddedEntry,
  embeddedEnvironment,
  embeddedSocketUrl,
  embeddedUrl,
  newEmbeddedPassword,
  startEmbeddedClickHouse,
} from './launch.js';
