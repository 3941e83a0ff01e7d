import { spawn } from 'node:child_process'
import type { Test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { until } from './until.js'

/** A small server that a page has its reader start beside the broker. */
export interface DocumentedServer {
  /** As the page writes it. */
  readonly named: string
  readonly port: number
  /** Resolves when it has printed this text; throws when that takes too long. */
  prints(text: string): Promise<void>
}

/**
 * Starts the servers of a page, each on a port of its own; they end with the test. They stand in blocks marked `sh`:
 * `node -e '… .listen(4041)'`.
 */
export async function startServers(t: Test, page: string): Promise<readonly DocumentedServer[]> {
  const scripts = [...page.matchAll(/^```sh\nnode -e '([^']*\.listen\((\d{4})\))'\n```$/gm)]
  return Promise.all(scripts.map(([, script = '', named = '']) => started(t, script, named)))
}

async function started(t: Test, script: string, named: string): Promise<DocumentedServer> {
  const port = await freePort()
  const server = spawn(process.execPath, ['-e', script.replaceAll(named, String(port))])
  t.teardown(() => server.kill('SIGKILL'))
  let output = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const shows = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
    await until(holds, () => `the server of port ${named} ${what}: ${output}`)
  }
  const listens = (): Promise<boolean> =>
    fetch(`http://localhost:${port}/`, { method: 'HEAD' }).then(
      () => true,
      () => false,
    )
  await shows('listens', listens)
  return {
    named,
    port,
    prints: (text) => shows(`has printed ${text}`, () => withoutIds(output).includes(withoutIds(text))),
  }
}

/** A text with the same words for every id that a broker gives. */
function withoutIds(text: string): string {
  return text.replace(/[0-9a-f]{24}/g, 'an id')
}
