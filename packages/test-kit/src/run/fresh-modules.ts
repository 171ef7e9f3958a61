import { vi } from 'vitest';

// One process runs many test files, so that libraries are loaded once. Our own modules are evaluated again for each file, so that files
// share no module state.
vi.resetModules();
