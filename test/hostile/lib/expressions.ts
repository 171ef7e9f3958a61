import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import ts from 'typescript';

/** Path of the repository. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A regular expression in a source file. */
export interface SourceExpression {
  readonly line: number;
  readonly expression: RegExp;
}

/** Every source file of every package and service. */
export function sourceFiles(): string[] {
  const patterns = ['packages/*/src/*.ts', 'services/*/src/*.ts'];
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: ROOT,
  });
  return listed
    .toString()
    .trim()
    .split('\n')
    .filter((file) => !file.endsWith('.d.ts'));
}

/** The syntax tree of a file. @param file its path below {@link ROOT} */
export function parseSource(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true);
}

function isMadeExpression(node: ts.Node): node is ts.NewExpression | ts.CallExpression {
  return (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp';
}

/** Parameter names of the enclosing functions; when an expression is evaluated, each is replaced by a word. */
function parametersAround(node: ts.Node): string[] {
  const names: string[] = [];
  for (let outer = node.parent; outer !== undefined; outer = outer.parent) {
    if (ts.isFunctionLike(outer)) names.push(...outer.parameters.map((parameter) => parameter.name.getText()));
  }
  return names.filter((name) => /^\w+$/.test(name));
}

/** A stub for everything that a module imports. */
const nothing: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === Symbol.toPrimitive ? () => 'word' : nothing),
  apply: () => nothing,
  construct: () => nothing as object,
});

/**
 * The expressions that a source file creates with `new RegExp`: those created while the module is loaded, and those created in functions,
 * evaluated with words as arguments.
 */
function madeExpressions(
  source: ts.SourceFile,
  made: readonly (ts.NewExpression | ts.CallExpression)[],
): SourceExpression[] {
  const found = made.map((): RegExp[] => []);
  let text = source.text;
  for (const [index, node] of [...made.entries()].reverse()) {
    const { expression } = node;
    text = `${text.slice(0, expression.getStart())}(__made(${index}))${text.slice(expression.getEnd())}`;
  }
  // Inside the module, where its constants are known.
  const later = made.map((node, index) => {
    const words = parametersAround(node).map((name) => `const ${name} = '${name}';`);
    const values = (node.arguments ?? []).map((value) => value.getText()).join(', ');
    return `__later(${index}, () => { ${words.join(' ')} return new (__made(${index}))(${values}); });`;
  });
  const { outputText } = ts.transpileModule(`${text}\n${later.join('\n')}`, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  vm.runInNewContext(outputText, {
    Buffer,
    exports: {},
    require: () => nothing,
    __made: (index: number) =>
      class extends RegExp {
        constructor(pattern: string | RegExp, flags?: string) {
          super(pattern, flags);
          found[index]?.push(new RegExp(this.source, this.flags));
        }
      },
    __later: (index: number, make: () => void) => {
      if (found[index]?.length === 0) make();
    },
  });
  return made.flatMap((node, index) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    return (found[index] ?? []).map((expression) => ({ line: line + 1, expression }));
  });
}

/** Every regular expression of a source file, however it is written. @throws Error for one that cannot be evaluated */
export function expressionsOf(file: string): SourceExpression[] {
  const source = parseSource(file);
  const literals: SourceExpression[] = [];
  const made: (ts.NewExpression | ts.CallExpression)[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      const expression = new RegExp(node.text.slice(1, end), node.text.slice(end + 1));
      literals.push({ line: line + 1, expression });
    } else if (isMadeExpression(node)) {
      made.push(node);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return made.length === 0 ? literals : [...literals, ...madeExpressions(source, made)];
}
