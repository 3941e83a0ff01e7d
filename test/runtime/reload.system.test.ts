import { type ChildProcess, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { type Test, test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { itsKey, renewedCertificate, renewedKey, unknownCertificate } from '../delivery/certificate.js'
import { brokerProgram } from '../program.js'
import { until } from '../until.js'

/** The subject of the certificate that a new connection is shown; nothing when there is none. */
function subjectShown(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const { CN } = socket.getPeerCertificate().subject
      resolve(typeof CN === 'string' ? CN : undefined)
      socket.destroy()
    })
    socket.on('error', () => resolve(undefined))
  })
}

async function shows(port: number, subject: string): Promise<void> {
  await until(async () => (await subjectShown(port)) === subject)
}

/** When the certificate ends, as the metrics say it. */
async function expiryShown(port: number): Promise<number> {
  const [response] = await once(request({ port, path: '/metrics', rejectUnauthorized: false }).end(), 'response')
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return Number(/^rigel_certificate_expiry_timestamp_seconds (.*)$/m.exec(text)?.[1])
}

function write(folder: string, key: string, certificate: string): void {
  writeFileSync(join(folder, 'key.pem'), key)
  writeFileSync(join(folder, 'cert.pem'), certificate)
}

async function started(t: Test, folder: string): Promise<{ broker: ChildProcess; port: number; output: () => string }> {
  const port = await freePort()
  const files = ['-key', join(folder, 'key.pem'), '-cert', join(folder, 'cert.pem')]
  const flags = ['-port', `${port}`, '-dbPath', join(folder, 'data'), '-https', ...files, '-httpThreads', '2']
  const broker = spawn(process.execPath, [brokerProgram, ...flags, '-logLevel', 'INFO'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => broker.kill('SIGKILL'))
  let output = ''
  broker.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  return { broker, port, output: () => output }
}

test('SIGHUP has new connections use key and certificate as they are now, on all threads', async (t) => {
  const folder = t.testdir()
  write(folder, itsKey, unknownCertificate)
  const { broker, port, output } = await started(t, folder)
  await shows(port, 'localhost')
  t.equal(await expiryShown(port), Date.parse(new X509Certificate(unknownCertificate).validTo) / 1000)
  write(folder, renewedKey, renewedCertificate)
  broker.kill('SIGHUP')
  // Either thread may take a connection: when many in a row see the new one, both have it.
  let row = 0
  await until(async () => {
    if (broker.exitCode !== null || broker.signalCode !== null) throw new Error(`the broker has ended: ${output()}`)
    row = (await subjectShown(port)) === 'renewed' ? row + 1 : 0
    return row === 30
  })
  t.match(output(), 'key and certificate were read again')
  t.equal(await expiryShown(port), Date.parse(new X509Certificate(renewedCertificate).validTo) / 1000)
  write(folder, itsKey, 'no certificate')
  broker.kill('SIGHUP')
  await until(() => output().includes('key and certificate stay as they were'))
  t.equal(await subjectShown(port), 'renewed')
  broker.kill('SIGTERM')
  t.same(await once(broker, 'exit'), [0, null])
})
