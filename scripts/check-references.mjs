// What the repository says must be found in the repository: comments and documents point to no text outside of it, such as a
// section of a specification or a number of an issue, and every relative link of a Markdown file leads to a file and a heading.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const TEXT = /\.(?:[cm]?[jt]sx?|md|sql|xml|ya?ml|sh|css|html|conf)$|Dockerfile$/;
const OUTSIDE = /\b(?:spec(?:ification)?s? \d|(?:section|chapter) \d|issue #?\d|(?:base-)?spec\.md\b)/i;
const LINK = /\[[^\]]*\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g;
const MENTION = /(?<![\w/.-])[\w./-]+\.md\b/g;
const SELF = 'scripts/check-references.mjs';
const NOT_OURS = new Set(['.git', 'node_modules', 'dist', 'data', 'coverage']);

const complaints = [];

/** The anchors of a Markdown file, as they are made of its headings. */
function anchorsOf(text) {
  const headings = withoutCode(text).matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, heading]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

const withoutCode = (text) =>
  text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''));

function checkLinks(file, text) {
  for (const [, markdown, html] of withoutCode(text).matchAll(LINK)) {
    const target = markdown ?? html;
    if (/^[a-z][a-z\d+.-]*:/i.test(target)) continue;
    const [path, anchor] = target.split('#');
    const found = path === '' ? file : join(dirname(file), path);
    if (!existsSync(found)) complaints.push(`${file}: links to ${target}, which is not there`);
    else if (anchor && !anchorsOf(readFileSync(found, 'utf8')).has(anchor)) {
      complaints.push(`${file}: links to ${target}, which has no such heading`);
    }
  }
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesIn(path);
    return entry.isFile() && TEXT.test(entry.name) && path !== SELF ? [path] : [];
  });
}

const files = filesIn('.');
const documents = files.filter((file) => file.endsWith('.md'));
const isDocument = (name) => documents.some((file) => `/${file}`.endsWith(`/${name.replace(/^(?:\.\.?\/)+/, '')}`));
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  text.split('\n').forEach((line, index) => {
    const found = OUTSIDE.exec(line)?.[0];
    if (found) complaints.push(`${file}:${index + 1}: refers to "${found}", which is not in the repository`);
    for (const [name] of line.matchAll(MENTION)) {
      if (!isDocument(name)) complaints.push(`${file}:${index + 1}: names ${name}, which is not in the repository`);
    }
  });
  if (file.endsWith('.md')) checkLinks(file, text);
}

for (const complaint of complaints) console.error(complaint);
console.log(`references: ${complaints.length === 0 ? `${files.length} files` : `${complaints.length} lead nowhere`}`);
process.exit(complaints.length === 0 ? 0 : 1);
