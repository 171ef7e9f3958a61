import { runServiceProcess } from '@waymark/bootstrap';
import { startHttp } from './http/start-http.js';

await runServiceProcess('http', startHttp);
