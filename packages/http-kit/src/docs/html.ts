const CHARACTER_REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as it may stand between tags and inside quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => CHARACTER_REFERENCES[character] ?? '');
}

/** Markup whose texts are escaped already. */
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

/** Markup with values in it: texts are escaped, markup and lists of it stand as they are. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((string, index) => string + partText(parts[index])).join(''));
}

/** Escapes a text and sets what it has between backquotes as code. */
export function prose(text: string): Html {
  const pieces = escapeHtml(text).split('`');
  return new Html(pieces.map((piece, index) => (index % 2 === 0 ? piece : `<code>${piece}</code>`)).join(''));
}
