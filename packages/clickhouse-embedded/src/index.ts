export {
  type EmbeddedClickHouse,
  type EmbeddedClickHouseOptions,
  embeddedArguments,
  embeddedEntry,
  embeddedThreads,
  startEmbeddedClickHouse,
} from './launch.js';
