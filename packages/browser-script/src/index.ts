export { isScriptPath, scriptResponse, scriptVersion } from './served-scripts.js';
