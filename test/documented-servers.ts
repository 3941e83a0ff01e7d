import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from '../bench/free-port.js'

const patience_ms = 60_000

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
  const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
    const end = Date.now() + patience_ms
    while (!(await holds())) {
      if (Date.now() > end) throw new Error(`the server of port ${named} ${what}: ${output}`)
      await delay(20)
    }
  }
  const listens = (): Promise<boolean> =>
    fetch(`http://localhost:${port}/`, { method: 'HEAD' }).then(
      () => true,
      () => false,
    )
  await until('does not listen', listens)
  return { named, port, prints: (text) => until(`has not printed ${text}`, () => output.includes(text)) }
}
