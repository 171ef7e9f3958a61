export * from './describe-settings.js';
export * from './instance-key.js';
export * from './settings.js';
export { SettingsError } from './settings-error.js';
