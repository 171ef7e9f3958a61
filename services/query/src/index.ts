export { readGroups } from './analytics/read-groups.js';
export { buildApp, type QueryDeps, queryRoutes } from './app.js';
export { readPage } from './events/read-page.js';
export type { JobSettings } from './jobs/export-jobs.js';
export { createPlannerCache, type PlannerCache } from './planner-cache.js';
export { createReads, type Reads } from './reads.js';
export type { ScheduleSettings } from './schedules/export-schedules.js';
