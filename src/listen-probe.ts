// Whether an address can be listened on at this moment: asked before anything is made that would have to go again.
import { createServer } from 'node:net';

/** Undefined when it can, else why not. */
export function listenProblem({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
