import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { itsKey, unknownCertificate } from '../delivery/certificate.js'
import { listening } from '../far-end.js'
import { nodeBySh } from '../program.js'

const program = fileURLToPath(new URL('../../src/runtime/commands/health-program.js', import.meta.url))

async function health(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly errors: string }> {
  const child = spawn('sh', nodeBySh([program, ...words]), { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const errors = text(child.stderr)
  await once(child, 'close')
  return { code: child.exitCode, errors: await errors }
}

/** A broker that is ready, and the paths that it was asked for. */
async function givenReady(t: Test, server: Server): Promise<{ readonly port: number; readonly paths: string[] }> {
  const paths: string[] = []
  server.on('request', ({ url = '' }, response) => {
    paths.push(url)
    response.writeHead(/^(\/proxy)?\/health\/(ready|live)$/.test(url) ? 200 : 400).end()
  })
  return { port: await listening(t, server), paths }
}

test('a broker is asked for its health at its bare URL, and by the variables that it is started with', async (t) => {
  const { port, paths } = await givenReady(t, createServer())
  const origin = `http://127.0.0.1:${port}`
  for (const url of [
    origin,
    `${origin}/`,
    `${origin}/health/ready`,
    `${origin}/health/live`,
    `${origin}/proxy/health/ready`,
  ])
    t.same(await health([url]), { code: 0, errors: '' }, url)
  t.same(paths.splice(0), ['/health/ready', '/health/ready', '/health/ready', '/health/live', '/proxy/health/ready'])
  t.same(await health([], { ORION_PORT: String(port) }), { code: 0, errors: '' })
  t.match(await health([], { ORION_PORT: 'x' }), { code: 1, errors: /^not ready: ORION_PORT: 'x' is not an integer/ })
})

test('a URL that does not tell whether a broker is ready is refused', async (t) => {
  const { port, paths } = await givenReady(t, createServer())
  for (const path of ['/v2', '/version', '/health']) {
    const refused = await health([`http://127.0.0.1:${port}${path}`])
    t.match(refused, { code: 2, errors: /give its URL without a path, or with \/health\/ready/ }, path)
  }
  t.same(paths, [])
})

test('HTTP instead of HTTPS, and the other way round, is said', async (t) => {
  const plain = await givenReady(t, createServer())
  const secured = await givenReady(t, createTlsServer({ key: itsKey, cert: unknownCertificate }))
  t.same(
    await health([`https://127.0.0.1:${secured.port}`]),
    { code: 0, errors: '' },
    'the certificate does not matter',
  )
  t.same(await health([`https://127.0.0.1:${plain.port}`]), {
    code: 1,
    errors: 'not ready: the broker speaks HTTP there, not HTTPS\n',
  })
  t.same(await health([`http://127.0.0.1:${secured.port}`]), {
    code: 1,
    errors: 'not ready: the broker speaks HTTPS there, not HTTP\n',
  })
})
