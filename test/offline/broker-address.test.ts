import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { backupCommand } from '../../src/data/offline/backup-command.js'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { itsKey, unknownCertificate } from '../delivery/certificate.js'
import { listening } from '../far-end.js'
import { Authority } from '../node-link/certificates.js'
import { type Ended, ran } from './given-command.js'

const secure = { key: itsKey, cert: unknownCertificate }

/** A broker that answers every request with this, and the tokens that it was shown. */
async function givenBroker(
  t: Test,
  server: Server,
  answer: string,
): Promise<{ readonly port: number; readonly tokens: (string | undefined)[] }> {
  const tokens: (string | undefined)[] = []
  server.on('request', ({ headers }, response) => {
    tokens.push(headers.authorization)
    response.writeHead(400, { connection: 'close' }).end(answer)
  })
  return { port: await listening(t, server), tokens }
}

function backup(t: Test, words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return ran(backupCommand, [join(t.testdirName, 'backup'), ...words], environment)
}

test('a backup asks the broker of this machine where its variables say, with its token', async (t) => {
  const { port, tokens } = await givenBroker(t, createServer(), 'asked')
  const environment = { ORION_PORT: '1', RIGEL_ADMIN_PORT: String(port) }
  t.match(await backup(t, [], environment), {
    code: 1,
    errors: `http://127.0.0.1:${port}/admin/backup answered 400 asked`,
  })
  await backup(t, [], { ...environment, RIGEL_ADMIN_TOKEN: 'of a variable' })
  t.same(tokens, [undefined, 'Bearer of a variable'])
  t.match(await backup(t, [], { RIGEL_ADMIN_PORT: 'x' }), {
    code: 2,
    errors: "RIGEL_ADMIN_PORT: 'x' is not an integer",
  })
})

test('the certificate in the file of the broker of this machine is trusted, whichever names it is for', async (t) => {
  const { cert, key } = new Authority().signed(['broker.example'])
  const folder = t.testdir({ 'own.pem': unknownCertificate, 'other.pem': cert, 'key.pem': key })
  const { port } = await givenBroker(t, createTlsServer(secure), 'asked')
  const environment = { ORION_PORT: String(port), ORION_HTTPS: 'true' }
  const asked = (file: string) => backup(t, [], { ...environment, ORION_HTTPS_CERTFILE: join(folder, file) })
  t.match(await asked('own.pem'), { code: 1, errors: /answered 400 asked/ })
  t.match(await asked('other.pem'), { code: 1, errors: /--ca FILE names the certificate to trust/ })
  t.match(await asked('key.pem'), {
    code: 1,
    errors: /ORION_HTTPS_CERTFILE: .*key.pem holds no certificate in PEM form/,
  })
})

test('a port that does not serve the management is said to be another one', async (t) => {
  const { port } = await givenBroker(t, createServer(), '{"orionError":{"details":"service not found"}}')
  t.match(await backup(t, ['--url', `http://127.0.0.1:${port}`]), {
    code: 1,
    errors: /answered 400: the management may be on a port of its own \(-adminPort\).*service not found/,
  })
})

test('HTTP instead of HTTPS, and the other way round, is said', async (t) => {
  const plain = await givenBroker(t, createServer(), '')
  const secured = await givenBroker(t, createTlsServer(secure), '')
  const file = join(t.testdirName, 'file')
  for (const [url, text] of [
    [`https://127.0.0.1:${plain.port}`, 'cannot be reached: the broker speaks HTTP there, not HTTPS\n'],
    [`http://127.0.0.1:${secured.port}`, 'cannot be reached: the broker speaks HTTPS there, not HTTP\n'],
  ] as const) {
    for (const ended of [await backup(t, ['--url', url]), await ran(exportCommand, [file, '--url', url])]) {
      t.equal(ended.code, 1)
      t.ok(ended.errors.endsWith(text), ended.errors)
    }
  }
})

test('a broker that breaks off, or does not listen, speaks neither', async (t) => {
  const server = createServer((request) => request.socket.destroy())
  const port = await listening(t, server)
  t.match(await backup(t, ['--url', `http://127.0.0.1:${port}`]), {
    code: 1,
    errors: /\(socket hang up\): is the broker/,
  })
  t.match(await backup(t, ['--url', 'http://127.0.0.1:9']), {
    code: 1,
    errors: /ECONNREFUSED.*: is the broker running/,
  })
})

test('a certificate that is not trusted, or for another name, is said, and a file without one is refused', async (t) => {
  const authority = new Authority()
  const folder = t.testdir({ 'key.pem': itsKey, 'ca.pem': authority.ca })
  const { port } = await givenBroker(t, createTlsServer(authority.signed(['broker.example'])), '')
  const url = `https://127.0.0.1:${port}`
  t.match(await backup(t, ['--url', url]), { errors: /\): --ca FILE names the certificate to trust/ })
  t.match(await ran(exportCommand, [join(folder, 'file'), '--url', url]), {
    errors: /: NODE_EXTRA_CA_CERTS names the file/,
  })
  t.match(await backup(t, ['--url', url, '--ca', join(folder, 'key.pem')]), {
    code: 1,
    errors: `no backup was made: --ca: ${join(folder, 'key.pem')} holds no certificate in PEM form\n`,
  })
  const elsewhere = await backup(t, ['--url', url, '--ca', join(folder, 'ca.pem')])
  t.match(elsewhere, { code: 1, errors: /cannot be reached: .*127\.0\.0\.1 is not in the cert/ })
  t.notMatch(elsewhere.errors, /is the broker running/)
})
