import { errorAnchor, errorBody } from '@waymark/contract';
import { ERROR_GUIDE, type ErrorGuide } from './error-guide.js';
import { html, prose } from './html.js';
import { docsPage } from './page-frame.js';

function section({ code, status, meaning, advice }: ErrorGuide) {
  return html`<section id="${errorAnchor(code)}"><h3>${status} <code>${code}</code></h3>
<p>${prose(meaning)}</p><p>${prose(advice)}</p></section>`;
}

/** The page that explains every error code. The `doc_url` of an error links to it. */
export function errorsPage(title: string, docBase: string): string {
  const example = JSON.stringify(errorBody('not_found', 'Link not found.', docBase), null, 2);
  const navigation = html`<a href="../../docs">${title}</a><a href="../reference">Reference</a><b>Errors</b>${ERROR_GUIDE.map(
    ({ code }) => html`<a href="#${errorAnchor(code)}">${code}</a>`,
  )}`;
  const content = html`<h1>Errors</h1>
<p>Every answer other than a success has this body. Each status has one code. The message is for people and may change;
programs decide by <code>code</code>. <code>x-request-id</code> names the request in the log. <a href="../reference/errors">How the message
names a field</a>.</p>
<pre>${example}</pre>${ERROR_GUIDE.map(section)}`;
  return docsPage(`Errors · ${title}`, navigation, content);
}
