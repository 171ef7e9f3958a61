export {
  type EmbeddedClickHouse,
  type EmbeddedClickHouseOptions,
  embeddedArguments,
  embeddedEntry,
  embeddedEnvironment,
  embeddedUrl,
  newEmbeddedPassword,
  startEmbeddedClickHouse,
} from './launch.js';
