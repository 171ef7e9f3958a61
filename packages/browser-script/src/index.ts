export { isScriptPath, type ScriptResponse, scriptIntegrity, scriptResponse } from './served-scripts.js';
