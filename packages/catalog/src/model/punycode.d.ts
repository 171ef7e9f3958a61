/** The part of the `punycode` package in use. Its bare name is a deprecated module of Node, hence the file name. */
declare module 'punycode/punycode.js' {
  const punycode: { encode(text: string): string; decode(text: string): string };
  export = punycode;
}
