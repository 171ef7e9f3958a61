import Fastify from 'fastify';

/** The baseline of the redirect benchmarks: the same framework, answering the same 302 without doing anything else. */
const app = Fastify({ logger: false });
app.get('/*', (_request, reply) =>
  reply.header('cache-control', 'no-store').redirect('https://example.com/landing?utm_source=bench', 302),
);
app.post('/json', (request) => ({ received: Object.keys(request.body as object).length }));
const address = await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ port: Number(new URL(address).port) });
process.on('disconnect', () => process.exit(0));
