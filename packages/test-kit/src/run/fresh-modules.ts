import { vi } from 'vitest';

// One process runs many files, so that libraries are loaded once. Our own modules are evaluated again for each file: none
// sees the state that another file left in them, and a module that a file mocks is not loaded yet.
vi.resetModules();
