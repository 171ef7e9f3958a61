import type { PanelGroup } from './panel-types.js';
import { REQUEST_PANELS } from './request-panels.js';
import { STORE_PANELS } from './store-panels.js';
import { WRITE_PATH_PANELS } from './write-path-panels.js';

/** The panels of the page below the components, in order. */
export const PANEL_GROUPS: readonly PanelGroup[] = [
  { title: 'Write path', width: 'plots', panels: WRITE_PATH_PANELS },
  { title: 'Requests and memory', width: 'plots', panels: REQUEST_PANELS },
  { title: 'Queries, workspaces and storage', width: 'tables', panels: STORE_PANELS },
];
