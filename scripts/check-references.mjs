// What the repository says must be found in the repository: comments and documents point to no text outside of it, such as a
// section of a specification or a number of an issue. In Markdown files every relative link leads to a file and a heading, every
// path and file in backquotes exists, and so does every command; the name of a test file stands for one file, and a test title in
// italics after it is in that file. docs/settings.md and packages/config have the same settings, and the table of rooms in
// docs/architecture.md has the imports that are allowed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import importRules from '../.dependency-cruiser.mjs';

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

const FOLDER_PATH = /`((?:packages|services|scripts|test|docs|clickhouse|deploy)\/[\w@./-]*)`/g;
const FILE_NAME = /`([\w/-][\w./-]*\.(?:ts|mjs|sh|sql))`/g;
const NPM_COMMAND = /\bnpm (?:run ([\w:-]+)|(test)\b)/g;
const WAYMARK_COMMAND = /\bwaymark(?:\.mjs)? ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/g;
const SETTINGS_PAGE = 'docs/settings.md';

const npmScripts = JSON.parse(readFileSync('package.json', 'utf8')).scripts;
const cliSource = readFileSync('services/cli/src/command-line.ts', 'utf8');
const cliCommands = [...cliSource.matchAll(/\.command\(\s*'([a-z -]+?)(?: [[<][^']*)?'/g)].map(
  ([, command]) => command,
);
const settingsSource = readFileSync('packages/config/src/settings.ts', 'utf8');
const settings = [...settingsSource.matchAll(/^ {2}([A-Z][A-Z\d_]+): /gm)].map(([, name]) => name);

/** Paths in backquotes, and files that are named without their folder, exist. */
function checkPaths(file, text, allFiles) {
  for (const [, path] of text.matchAll(FOLDER_PATH)) {
    if (!existsSync(path)) complaints.push(`${file}: names ${path}, which is not there`);
  }
  for (const [, name] of text.matchAll(FILE_NAME)) {
    if (!allFiles.some((path) => `/${path}`.endsWith(`/${name}`)))
      complaints.push(`${file}: names ${name}, which is not there`);
  }
}

// A title is written in italics after the file, with a comma or parentheses: `a.test.ts`, *one title*, or `a.test.ts` (*one*, *two…*).
const TITLED_TEST = /`([\w./-]+\.test\.ts)`(?:,\s+|\s+\()(\*(?=\S)[^*]+\*(?:,\s+\*(?=\S)[^*]+\*)*)/g;
// The first argument of `it`, `test` and `describe`, or of what `it.each(…)` and `it.skipIf(…)` return.
const TEST_TITLE = /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*(['"`])(.+?)\1,/g;

const filesNamed = (name, allFiles) =>
  existsSync(name) ? [name] : allFiles.filter((path) => `/${path}`.endsWith(`/${name}`));

/** The name of a test file stands for one file: where several files have it, the document writes the path. */
function checkTestNames(file, text, allFiles) {
  const names = new Set(
    [...text.matchAll(FILE_NAME)].map(([, name]) => name).filter((name) => name.endsWith('.test.ts')),
  );
  for (const name of names) {
    const found = filesNamed(name, allFiles);
    if (found.length > 1) complaints.push(`${file}: names ${name}, but may mean ${found.join(' or ')}: write the path`);
  }
}

/** A title that ends with … stands for all that begin so. */
const isTitle = (title, titles) =>
  title.endsWith('…') ? titles.some((one) => one.startsWith(title.slice(0, -1))) : titles.includes(title);

/** Titles of tests in italics are in the test file that is named before them. */
function checkTestTitles(file, text, allFiles) {
  for (const [, name, list] of text.matchAll(TITLED_TEST)) {
    const sources = filesNamed(name, allFiles).map((path) => readFileSync(path, 'utf8'));
    const titles = sources.flatMap((source) => [...source.matchAll(TEST_TITLE)].map(([, , title]) => title));
    for (const [, written] of list.matchAll(/\*([^*]+)\*/g)) {
      const title = written.replace(/\s+/g, ' ');
      if (!isTitle(title, titles)) complaints.push(`${file}: names the test "${title}", which is not in ${name}`);
    }
  }
}

/** Commands of npm and of the command line exist. */
function checkCommands(file, text) {
  for (const [, script, test] of text.matchAll(NPM_COMMAND)) {
    if (!((script ?? test) in npmScripts)) complaints.push(`${file}: npm has no script ${script ?? test}`);
  }
  for (const line of text.split('\n').filter((one) => /npx waymark|waymark\.mjs/.test(one))) {
    for (const [command, first, second] of line.matchAll(WAYMARK_COMMAND)) {
      const isKnown = cliCommands.includes(first) || cliCommands.includes(`${first} ${second}`);
      if (!isKnown) complaints.push(`${file}: there is no command "${command}"`);
    }
  }
}

/** The settings page and `packages/config` have the same settings, and the README names no other. */
function checkSettings() {
  const page = readFileSync(SETTINGS_PAGE, 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const described = new Set(
    rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name)),
  );
  for (const [, name] of page.matchAll(/`([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)`/g)) described.add(name);
  for (const name of settings) {
    if (!described.has(name)) complaints.push(`${SETTINGS_PAGE}: does not describe the setting ${name}`);
  }
  for (const name of described) {
    if (!settings.includes(name)) complaints.push(`${SETTINGS_PAGE}: packages/config declares no setting ${name}`);
  }
  for (const [, name] of readFileSync('README.md', 'utf8').matchAll(
    /(?<![\w.$])([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)(?![\w])/g,
  )) {
    // Variables of the reader's own shell.
    if (!settings.includes(name) && !name.startsWith('WAYMARK_')) {
      complaints.push(`README.md: packages/config declares no setting ${name}`);
    }
  }
}

/** The table of rooms has every package and service, with the imports that the linter allows. */
function checkRooms() {
  const text = readFileSync('docs/architecture.md', 'utf8');
  const rows = new Map(
    [...text.matchAll(/^\| `([\w/-]+)` \| .* \| (.*) \|$/gm)].map(([, room, imports]) => [room, imports]),
  );
  const allowed = importRules.forbidden.flatMap(({ comment = '' }) => {
    const [, room, imports] = /^(\S+) may import of ours: (.*)$/.exec(comment) ?? [];
    return room === undefined ? [] : [[room, imports]];
  });
  for (const [room, imports] of allowed) {
    if (rows.get(room) !== imports) complaints.push(`docs/architecture.md: the row of ${room} must say: ${imports}`);
  }
  for (const service of readdirSync('services')) {
    if (!rows.has(`services/${service}`)) complaints.push(`docs/architecture.md: has no row for services/${service}`);
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
  if (file.endsWith('.md')) {
    checkLinks(file, text);
    checkCommands(file, text);
    // The change log names files as they were.
    if (file !== 'CHANGELOG.md') {
      checkPaths(file, text, files);
      checkTestNames(file, text, files);
      checkTestTitles(file, text, files);
    }
  }
}
checkSettings();
checkRooms();

for (const complaint of complaints) console.error(complaint);
console.log(`references: ${complaints.length === 0 ? `${files.length} files` : `${complaints.length} lead nowhere`}`);
process.exit(complaints.length === 0 ? 0 : 1);
