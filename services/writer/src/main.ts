import { runServiceProcess } from '@waymark/bootstrap';
import { startWriter } from './writer-service.js';

await runServiceProcess('writer', startWriter);
