export { isScriptPath, scriptIntegrity, scriptResponse } from './served-scripts.js';
