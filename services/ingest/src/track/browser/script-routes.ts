import { scriptResponse } from '@waymark/browser-script';
import { SCRIPT_PATHS } from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { UNDOCUMENTED } from './preflights.js';

/** `GET /analytics/script.js` and its variants, on the API port; on the link port redirect-routes.ts serves them. */
export async function scriptRoutes(app: App): Promise<void> {
  for (const path of SCRIPT_PATHS) {
    app.get(path, { schema: UNDOCUMENTED }, async ({ headers: requestHeaders, url }, reply) => {
      const { status, headers, body } = scriptResponse(path, requestHeaders, url.split('?')[1]);
      return reply.code(status).headers(headers).send(body);
    });
  }
}
