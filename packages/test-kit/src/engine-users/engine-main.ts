import { loadNativeEngine } from '@waymark/clickhouse-embedded';

/** The process of an engine with users: `engine-main.ts <data directory> <configuration>`. It runs the statements of its messages. */
const [dataDir = '', config = ''] = process.argv.slice(2);
const native = loadNativeEngine();
const connection = native.CreateConnection(dataDir, [`--config-file=${config}`]);

process.on('message', async (sql: string) => {
  try {
    const { bytes } = await native.QueryAsyncConnection(connection, sql, 'TSVRaw');
    process.send?.({ text: bytes.toString() });
  } catch (err) {
    process.send?.({ error: String(err) });
  }
});
process.on('disconnect', () => {
  native.CloseConnection(connection);
  process.exit();
});
process.send?.({ text: '' });
