export { readGroups } from './analytics/read-groups.js';
export { buildApp, type QueryDeps, queryRoutes } from './app.js';
export { readPage } from './events/read-page.js';
export { createReads, type Reads } from './reads.js';
export { createWorkspaceMemory, type WorkspaceMemory } from './workspace-memory.js';
