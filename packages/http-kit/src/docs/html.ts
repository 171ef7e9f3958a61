const CHARACTER_REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a text for use between tags and inside quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => CHARACTER_REFERENCES[character] ?? '');
}

/** Markup in which all texts are escaped already, so that it can be inserted unchanged. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | readonly Part[] | undefined;

function partText(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(partText).join('');
  return escapeHtml(String(part));
}

/** A template tag for markup: texts are escaped, `Html` values and lists of them are inserted unchanged. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((string, index) => string + partText(parts[index])).join(''));
}

/** Escapes a text and renders the parts between backquotes as code. */
export function prose(text: string): Html {
  const pieces = escapeHtml(text).split('`');
  return new Html(pieces.map((piece, index) => (index % 2 === 0 ? piece : `<code>${piece}</code>`)).join(''));
}
