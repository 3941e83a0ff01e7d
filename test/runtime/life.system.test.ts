import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { deviceId } from '../../bench/device.js'
import { freePort } from '../../bench/free-port.js'
import { Helper } from '../../bench/helper.js'
import type { UnappliedReply, UnappliedTask } from '../../bench/unapplied.js'
import { itsKey, renewedKey, unknownCertificate } from '../delivery/certificate.js'
import { brokerProgram, nodeBySh } from '../program.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program to its end, which has to come by itself. */
async function run(...args: readonly string[]): Promise<Ended> {
  const child = spawn('sh', nodeBySh([brokerProgram, ...args]), { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString()
  })
  await once(child, 'close')
  return { code: child.exitCode, ...output }
}

/** Whether something listens already. */
function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('connect', () => socket.destroy())
    socket.on('error', () => resolve(false))
  })
}

test('a wrong command line ends with 1, says what was wrong, and makes nothing', async (t) => {
  const folder = join(t.testdir(), 'data')
  const ended = await run('-dbPath', folder, '-port', '99999')
  t.equal(ended.code, 1)
  t.match(ended.stderr, /^'-port': '99999' is not an integer from 1 to 65535\n/)
  t.notOk(existsSync(folder))
})

test('help and version end with 0', async (t) => {
  t.match(await run('-h'), { code: 0, stdout: /-mutexTimeStat/ })
  t.match(await run('--version'), { code: 0, stdout: /^rigel \d+\.\d+\.\d+ / })
})

test('a port in use ends with 2, names the port and who has it, and leaves the folder free', async (t) => {
  const taken = createServer()
  taken.listen(0)
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const address = taken.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const folder = t.testdir()
  const ended = await run('-dbPath', folder, '-port', `${port}`)
  t.equal(ended.code, 2)
  const who = process.platform === 'linux' ? ` by process ${process.pid} \\(` : ''
  t.match(ended.stdout, new RegExp(`"lvl":"FATAL".*port ${port} is in use${who}`))
  t.notOk(existsSync(join(folder, 'lock')))
})

test('a folder in use, or made with another number of partitions, ends with 3', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '2'])
  const port = `${await freePort()}`
  t.match(await run('-dbPath', broker.folder, '-port', port), { code: 3, stdout: /in use by another broker/ })
  await broker.endsInOrder(t)
  const other = await run('-dbPath', broker.folder, '-port', port, '-partitions', '3')
  t.match(other, { code: 3, stdout: /made with 2 partitions/ })
})

test('a damaged partition ends with 3 and a line that names the folder', async (t) => {
  const folder = t.testdir({
    'format.json': '{"format":6,"partitions":1,"folder":"a"}',
    'partition-0': { 'data.mdb': 'this is no database '.repeat(1000) },
  })
  const ended = await run('-dbPath', folder, '-port', `${await freePort()}`)
  t.equal(ended.code, 3)
  t.match(ended.stdout, /"lvl":"FATAL".*data\.mdb is damaged/)
})

test('the pid file of a living process ends with 5; a leftover is replaced, and removed at the end', async (t) => {
  const folder = t.testdir()
  const pid = join(folder, 'pid')
  writeFileSync(pid, `${process.pid}\n`)
  const ended = await run('-dbPath', join(folder, 'data'), '-port', `${await freePort()}`, '-pidpath', pid)
  t.match(ended, { code: 5, stdout: new RegExp(`PID: ${process.pid}`) })
  writeFileSync(pid, '999999999\n')
  const broker = await RunningBroker.start(t, ['-pidpath', pid])
  t.match(readFileSync(pid, 'utf8'), /^\d+\n$/)
  t.not(readFileSync(pid, 'utf8'), '999999999\n')
  await broker.endsInOrder(t)
  t.notOk(existsSync(pid))
})

test('a certificate that can not be used ends with 4', async (t) => {
  const texts = { nokey: 'no key', nocert: 'no certificate', key: itsKey, other: renewedKey, cert: unknownCertificate }
  const folder = t.testdir(texts)
  for (const [key, cert, message] of [
    ['none', 'cert', /-key: '.*none' cannot be read: there is no such file or folder \(ENOENT\)/],
    ['nokey', 'cert', /-key: '.*nokey' is no private key in PEM form/],
    ['key', 'nocert', /-cert: '.*nocert' is no certificate in PEM form/],
    ['other', 'cert', /-key: '.*other' is not the key of the certificate '.*cert' \(-cert\)/],
  ] as const) {
    const files = ['-https', '-key', join(folder, key), '-cert', join(folder, cert)]
    const ended = await run('-dbPath', join(folder, 'data'), '-port', `${await freePort()}`, ...files)
    t.match(ended, { code: 4, stdout: message })
  }
})

test('what cannot be used at the start is said with its flag and with what helps', async (t) => {
  const folder = t.testdir({ file: 'x' })
  const port = `${await freePort()}`
  const below = join(folder, 'file', 'below')
  t.match(await run('-dbPath', below, '-port', port), {
    code: 3,
    stdout: /cannot be made: a part of the path is no folder \(ENOTDIR\)/,
  })
  t.match(await run('-dbPath', join(folder, 'data'), '-port', port, '-logDir', below), {
    code: 1,
    stderr: /\(-logDir\) cannot be written: a part of the path is no folder \(ENOTDIR\)/,
  })
  t.match(await run('-dbPath', join(folder, 'data'), '-port', port, '-pidpath', below), {
    code: 5,
    stdout: /\(-pidpath\) cannot be written: a part of the path is no folder \(ENOTDIR\)/,
  })
  t.match(await run('-dbPath', join(folder, 'data'), '-port', port, '-localIp', '192.0.2.1'), {
    code: 2,
    stdout: /port \d+ cannot be used: on 192\.0\.2\.1: this machine does not have the address \(EADDRNOTAVAIL\)/,
  })
})

test('a second signal ends the process at once, with 128 and its number', async (t) => {
  const broker = await RunningBroker.start(t)
  // A request whose body never comes keeps the first signal from ending the broker.
  const hanging = connect(broker.port, '127.0.0.1')
  hanging.on('error', () => {})
  hanging.write(
    'POST /v1/updateContext HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
  )
  const isHanging = async () => /^rigel_http_requests_in_flight 2$/m.test((await broker.send('GET', '/metrics')).text)
  await until(isHanging, 'the request has come')
  broker.signal('SIGTERM')
  const isEnding = () =>
    broker.send('GET', '/health/ready', undefined, { Connection: 'close' }).then(
      ({ status }) => status !== 200,
      () => true,
    )
  await until(isEnding, 'the first signal has come')
  t.equal(await broker.end('SIGINT'), 130)
  hanging.destroy()
})

test('a signal that comes while threads are still being started ends the broker in order', async (t) => {
  for (const wait_ms of [0, 50, 100, 200]) {
    const port = await freePort()
    const args = [
      brokerProgram,
      '-port',
      `${port}`,
      '-dbPath',
      join(t.testdir(), 'data'),
      '-httpThreads',
      '4',
      '-logLevel',
      'INFO',
    ]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    await until(async () => await isListening(port))
    await delay(wait_ms)
    child.kill('SIGTERM')
    await once(child, 'close')
    t.equal(child.exitCode, 0, output)
    t.match(output, /ended in order/)
  }
})

test('a signal ends a start that applies a long log at once, and the next start applies it', async (t) => {
  t.setTimeout(300_000)
  const devices = 5000
  const first = await RunningBroker.start(t, ['-partitions', '1'])
  const { folder, port } = first
  for (let from = 0; from < devices; from += 500) {
    const entities = Array.from({ length: 500 }, (_, at) => ({
      ...{ id: deviceId(from + at), type: 'Device', level: { value: at } },
      text: { value: 'x'.repeat(300) },
    }))
    t.equal((await first.send('POST', '/v2/op/update', { actionType: 'append', entities })).status, 204)
  }
  await first.endsInOrder(t)
  const helper = new Helper<UnappliedTask, UnappliedReply>('unapplied.js')
  t.teardown(() => helper.end())
  await helper.ask({ path: folder, devices, more_bytes: 64 * 2 ** 20 })
  await helper.end()
  const args = [brokerProgram, '-port', `${port}`, '-dbPath', folder, '-logLevel', 'INFO']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  await until(
    () => output.includes('"main:start"'),
    () => output,
  )
  child.kill('SIGTERM')
  await once(child, 'close')
  t.equal(child.exitCode, 0, output)
  t.match(output, /ended before it was ready: the next start applies the rest of the log/)
  t.notMatch(output, /"lvl":"(ERROR|FATAL)"|records of the log were applied/)
  const next = await RunningBroker.startOn(t, folder, ['-logLevel', 'INFO'])
  await next.writes(/records of the log were applied/)
  t.equal((await next.send('GET', `/v2/entities/${deviceId(devices - 1)}`)).status, 200)
  await next.endsInOrder(t)
})

test('all partitions are ready when the broker answers, each in a folder of its own', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '2'])
  t.same((await broker.send('GET', '/health/ready')).json, { status: 'ok', partitions: { total: 2, ready: 2 } })
  t.same(readdirSync(broker.folder).sort(), ['control', 'format.json', 'lock', 'partition-0', 'partition-1'])
})
