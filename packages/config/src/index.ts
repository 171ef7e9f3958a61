export * from './admin-key.js';
export * from './describe-settings.js';
export * from './embedded-password.js';
export * from './environment.js';
export * from './instance-key.js';
export { createKeyFile } from './key-file.js';
export * from './run-state.js';
export * from './settings.js';
export { SettingsError } from './settings-error.js';
