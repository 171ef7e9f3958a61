import { runServiceProcess } from '@waymark/bootstrap';
import { startHttp } from './start-http.js';

await runServiceProcess('http', startHttp);
