import { html } from './html.js';
import { docsPage } from './page-frame.js';

/** Links of the page `/`; each is shown if the service has the route. */
const DESTINATIONS: readonly (readonly [path: string, text: string])[] = [
  ['/docs', 'every route with a request and its answer'],
  ['/docs/reference', 'the rules of the interface, a page for each subject'],
  ['/openapi.json', 'the same routes for programs, OpenAPI 3.1'],
  ['/ops', 'what runs, for operators: any user, with the admin key as the password'],
  ['/readyz', 'whether the stores can be reached'],
];

/** The page at `/`, which describes this server and links to its other pages. */
export function startPage(title: string, hasRoute: (path: string) => boolean): string {
  const served = DESTINATIONS.filter(([path]) => hasRoute(path));
  const content = html`<h1>${title}</h1>
<p>This is the address of the API. Waymark redirects short links and records their clicks; servers report leads and sales here, and read
all of them back. Requests carry a key of a workspace, <code>Authorization: Bearer dub_&hellip;</code>.</p>
<table>${served.map(
    ([path, text]) => html`<tr><td><a href="${path.slice(1)}"><code>${path}</code></a></td><td>${text}</td></tr>`,
  )}</table>
<p>The first five minutes, from a link to its first sale, are in <code>README.md</code> of the repository.</p>`;
  return docsPage(title, html`${served.map(([path]) => html`<a href="${path.slice(1)}">${path}</a>`)}`, content);
}
