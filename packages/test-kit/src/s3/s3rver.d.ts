declare module 's3rver' {
  /** A server with the interface of S3 that keeps objects in files. It accepts the access key id `S3RVER`. */
  // biome-ignore lint/style/noDefaultExport: the package has one
  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly directory: string;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    /** @returns where it listens */
    run(): Promise<{ readonly port: number }>;
    close(): Promise<void>;
  }
}
