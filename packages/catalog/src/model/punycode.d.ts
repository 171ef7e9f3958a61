/** The functions in use of the package `punycode`. It is imported by file, because the bare name is a deprecated module of Node. */
declare module 'punycode/punycode.js' {
  const punycode: { encode(text: string): string; decode(text: string): string };
  export = punycode;
}
