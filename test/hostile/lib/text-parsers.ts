import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { parseSource, ROOT, sourceFiles } from './expressions.js';

/** An exported function whose only required parameter is a text. */
export interface TextParser {
  /** File and function: `packages/contract/src/values/parse-url.ts parseUrl`. */
  readonly name: string;
  load(): Promise<(text: string) => unknown>;
}

/** Parameter types that may be a text from a request. */
const TEXT = /^(?:string|unknown)(?: \| (?:string|undefined|null))*$/;

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

/** The functions that a statement declares, with their names. */
function functionsOf(statement: ts.Statement): (readonly [string, ts.SignatureDeclaration])[] {
  if (ts.isFunctionDeclaration(statement)) return [[statement.name?.text ?? 'default', statement]];
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.flatMap(({ name, initializer }) =>
    initializer !== undefined && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer))
      ? [[name.getText(), initializer] as const]
      : [],
  );
}

function takesText({ parameters: [first, ...rest] }: ts.SignatureDeclaration): boolean {
  const isAlone = rest.every(
    ({ questionToken, initializer }) => questionToken !== undefined || initializer !== undefined,
  );
  return isAlone && TEXT.test(first?.type?.getText() ?? '');
}

/** Lists the exported functions of the repository whose only required parameter is a text. */
export function textParsers(): TextParser[] {
  return sourceFiles().flatMap((file) =>
    parseSource(file)
      .statements.filter(isExported)
      .flatMap(functionsOf)
      .filter(([, signature]) => takesText(signature))
      .map(([name]) => ({
        name: `${file} ${name}`,
        async load() {
          const module = (await import(pathToFileURL(join(ROOT, file)).href)) as Record<
            string,
            (text: string) => unknown
          >;
          const parser = module[name];
          if (parser === undefined) throw new Error(`${file} exports no ${name}`);
          return parser;
        },
      })),
  );
}
