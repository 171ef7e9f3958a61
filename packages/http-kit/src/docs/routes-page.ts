import { groupBy } from '@waymark/contract';
import {
  contentOf,
  type Document,
  type JsonSchema,
  type Operation,
  type Parameter,
  PUBLISHABLE_KEY,
} from './document.js';
import { type Html, html, prose } from './html.js';
import { docsPage } from './page-frame.js';
import type { ReferencePages } from './reference-pages.js';
import { fieldRows, fieldTable, typeHtml } from './schema-html.js';

interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

function routesByGroup({ paths = {} }: Document): Map<string, Route[]> {
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Route => ({ method: method.toUpperCase(), path, operation })),
  );
  return groupBy(routes, ({ operation }) => operation.tags?.[0] ?? 'Other');
}

function parameterRow({ name, schema, required, description }: Parameter) {
  return {
    path: name,
    schema: description === undefined ? schema : { ...schema, description },
    isRequired: required === true,
  };
}

/** The line of a curl command with the key that a route needs, if any. */
function keyLines({ security }: Operation): string[] {
  if (security === undefined) return [];
  const takesPublishableKey = security.some((scheme) => Object.hasOwn(scheme, PUBLISHABLE_KEY));
  return [`-H "Authorization: Bearer $${takesPublishableKey ? 'WAYMARK_PUBLISHABLE_KEY' : 'WAYMARK_KEY'}"`];
}

/** The example request as a curl command. */
function curlText(serverUrl: string, { method, path, operation }: Route): string {
  const parameters = operation.parameters ?? [];
  const withExample = parameters.filter(({ example }) => example !== undefined);
  const query = new URLSearchParams();
  for (const one of withExample) if (one.in === 'query') query.append(one.name, String(one.example));
  const target = withExample
    .filter((one) => one.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), path);
  const body = contentOf(operation.requestBody)?.example;
  return [
    `curl${method === 'GET' ? '' : ` -X ${method}`} '${serverUrl}${target}${query.size === 0 ? '' : `?${query}`}'`,
    ...keyLines(operation),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body, null, 2).replaceAll("'", `'\\''`)}'`]),
  ].join(' \\\n  ');
}

function answerHtml(status: string, operation: Operation): Html {
  const content = contentOf(operation.responses[status]);
  if (content === undefined) return html``;
  const { schema, example } = content;
  return html`<h4>Answer ${status}</h4>${schema === undefined ? '' : html`<p>${typeHtml(schema)}</p>`}${
    schema === undefined ? '' : fieldDetails(fieldTable('Its fields', fieldRows(schema)))
  }${example === undefined ? '' : html`<pre>${JSON.stringify(example, null, 2)}</pre>`}`;
}

function fieldDetails(table: Html): Html {
  return table.text === '' ? table : html`<details><summary>Fields</summary>${table}</details>`;
}

function routeHtml(serverUrl: string, route: Route): Html {
  const { method, path, operation } = route;
  const parameters = operation.parameters ?? [];
  const body = contentOf(operation.requestBody);
  const isSuccess = (status: string) => status.startsWith('2');
  const statuses = Object.keys(operation.responses);
  return html`<section id="${operation.operationId}"><h3><span class="method">${method}</span><code>${path}</code></h3>
<p>${prose(operation.summary ?? '')}.</p>${operation.description === undefined ? '' : html`<p>${prose(operation.description)}</p>`}
<h4>Request</h4><pre>${curlText(serverUrl, route)}</pre>
${fieldTable('In the path', parameters.filter((one) => one.in === 'path').map(parameterRow))}
${fieldTable('In the query', parameters.filter((one) => one.in === 'query').map(parameterRow))}
${body?.schema === undefined ? '' : fieldTable('In the body', fieldRows(body.schema))}
${statuses.filter(isSuccess).map((status) => answerHtml(status, operation))}
<p><small>Errors: ${statuses
    .filter((status) => !isSuccess(status))
    .map((status) => html`<a href="docs/api-reference/errors">${status}</a> `)}</small></p></section>`;
}

function introduction(title: string, serverUrl: string): Html {
  return html`<h1>${title}</h1>
<p>JSON over HTTP at <code>${serverUrl}</code>. Every request carries a key of the workspace,
<code>Authorization: Bearer dub_&hellip;</code>, unless its section says otherwise. Wherever an id is expected you may pass
your own id, prefixed with <code>ext_</code>. Times are UTC in ISO 8601, amounts are cents of USD unless a currency is named.</p>
<p>The rules behind the routes: <a href="docs/reference">reference</a>. Errors have a code: <a
href="docs/api-reference/errors">errors</a>. The same for programs: <a href="openapi.json">OpenAPI 3.1</a>. The published <code>dub</code> SDK works with <code>serverURL</code> set to this address.</p>`;
}

function objectHtml([name, schema]: readonly [string, JsonSchema]): Html {
  const rows = fieldRows(schema);
  const text = rows.length === 0 ? html`<p>${typeHtml(schema)}</p>` : fieldTable('Fields', rows);
  return html`<section id="object-${name}"><h3>${name}</h3>${text}</section>`;
}

/** The reference of all routes in the OpenAPI document, with examples. */
export function routesPage(document: Document, subjects: ReferencePages): string {
  const { title } = document.info;
  const serverUrl = document.servers?.[0]?.url ?? '';
  const groups = [...routesByGroup(document)];
  const schemas = Object.entries(document.components?.schemas ?? {});
  const subjectLinks = subjects.names.map(
    (name) => html`<a href="docs/reference/${name}">${subjects.titleOf(name)}</a>`,
  );
  const navigation = html`<a href="docs/api-reference/errors">Error codes</a><b><a href="docs/reference">Reference</a></b>${subjectLinks}${groups.map(
    ([group, routes]) =>
      html`<b>${group}</b>${routes.map(
        ({ operation }) =>
          html`<a href="#${operation.operationId}">${prose(operation.summary ?? operation.operationId)}</a>`,
      )}`,
  )}<b>Objects</b>${schemas.map(([name]) => html`<a href="#object-${name}">${name}</a>`)}`;
  const content = html`${introduction(title, serverUrl)}${groups.map(
    ([group, routes]) => html`<h2>${group}</h2>${routes.map((route) => routeHtml(serverUrl, route))}`,
  )}<h2>Objects</h2>${schemas.map(objectHtml)}`;
  return docsPage(title, navigation, content);
}
