import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { t as root, test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { itsKey, renewedKey, unknownCertificate } from '../delivery/certificate.js'
import { made } from '../lmdb/given-folder.js'
import { asNobody, withoutNobody } from '../nobody.js'
import { brokerProgram, nodeBySh } from '../program.js'

const folder = root.testdir({
  file: 'x\n',
  empty: '',
  folder: {},
  'of partitions': { 'partition-0': {} },
  foreign: { 'a.txt': 'x', b: {}, 'rigel.log': '', 'lost+found': {} },
  'of a newer version': { 'format.json': '{"format":9,"partitions":1,"folder":"x"}' },
  'of a damaged format': { 'format.json': '{"for' },
  'key.pem': itsKey,
  'other.pem': renewedKey,
  'cert.pem': unknownCertificate,
  'wrong keys': '# nobody\nx y z\n',
  pid: `${process.pid}\n`,
})
const at = (name: string): string => join(folder, name)
const port = `${await freePort()}`

interface Refusal {
  readonly what: string
  readonly flags: readonly string[]
  readonly code: number
  readonly message: RegExp
  readonly before?: readonly string[]
  /** What starts the program. */
  readonly under?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

const refusals: readonly Refusal[] = [
  {
    what: 'a file as the folder',
    flags: ['-dbPath', at('file')],
    code: 3,
    message: /file is not a folder: name another place with -dbPath/,
  },
  {
    what: 'a folder below a file',
    flags: ['-dbPath', at('file/x')],
    code: 3,
    message: /cannot be made: a part of the path is no folder \(ENOTDIR\)/,
  },
  {
    what: 'partitions without a format',
    flags: ['-dbPath', at('of partitions')],
    code: 3,
    message: /format\.json is missing although the directory holds partitions: restore it from a backup/,
  },
  {
    what: 'a folder of somebody else',
    flags: ['-dbPath', at('foreign')],
    code: 3,
    message:
      /foreign is not empty and is no data folder: it holds a\.txt and 1 more; name an empty or a new one with -dbPath/,
  },
  {
    what: 'a newer format',
    flags: ['-dbPath', at('of a newer version')],
    code: 3,
    message: /has format 9, this program reads format \d: use the version of Rigel that wrote it/,
  },
  {
    what: 'a damaged format',
    flags: ['-dbPath', at('of a damaged format')],
    code: 3,
    message: /format\.json is damaged: restore it from a backup/,
  },
  {
    what: 'a missing file',
    flags: ['-dbPath', at('cut')],
    code: 3,
    message: /partition-1\/data\.mdb is missing: restore the folder from a backup, or start with an empty -dbPath/,
  },
  {
    what: 'another number of partitions',
    flags: ['-dbPath', at('whole'), '-partitions', '3'],
    code: 3,
    message: /was made with 2 partitions and keeps that number: start without -partitions, or .* rigel reshard/,
  },
  {
    what: 'maps for which no address space is large enough',
    flags: ['-partitions', '3', '-dbSizeMax', '8388608'],
    code: 3,
    message: /"FATAL".*the address space has no room for 4 maps of 16793600 MiB: lower -dbSizeMax/,
  },
  {
    what: 'maps for which the limit of the address space is too low',
    flags: ['-partitions', '2'],
    under: ['sh', '-c', 'ulimit -v 20000000; exec "$@"', 'sh'],
    code: 3,
    message:
      /"FATAL".*no room for 3 maps of 147456 MiB within the limit of 19531 MiB: raise it \(ulimit -v \d+\), or lower -dbSizeMax/,
  },
  {
    what: 'too many partitions',
    flags: ['-partitions', '9999'],
    code: 1,
    message: /'-partitions': '9999' is not an integer from 1 to 256/,
  },
  {
    what: 'a port for two',
    flags: ['-adminPort', port],
    code: 1,
    message: /'-adminPort': '\d+' is the port of the context interface \(-port\) as well/,
  },
  {
    what: 'an address that is none',
    flags: ['-localIp', 'nonsense'],
    code: 1,
    message: /'-localIp': 'nonsense' is not an IP address/,
  },
  { what: 'HTTPS without a key', flags: ['-https'], code: 1, message: /-https needs -key/ },
  {
    what: 'a key that is not there',
    flags: ['-https', '-key', at('none'), '-cert', at('cert.pem')],
    code: 4,
    message: /-key: .* cannot be read: there is no such file or folder \(ENOENT\)/,
  },
  {
    what: 'a key that is a folder',
    flags: ['-https', '-key', at('folder'), '-cert', at('cert.pem')],
    code: 4,
    message: /-key: .* cannot be read: it is a folder \(EISDIR\)/,
  },
  {
    what: 'the key of another certificate',
    flags: ['-https', '-key', at('other.pem'), '-cert', at('cert.pem')],
    code: 4,
    message: /is not the key of the certificate .*: give the two that belong together/,
  },
  {
    what: 'keys of clients that are not there',
    flags: ['-apiKeys', at('none')],
    code: 4,
    message: /-apiKeys: .*none cannot be read: there is no such file or folder \(ENOENT\)/,
  },
  {
    what: 'keys of clients that are none',
    flags: ['-apiKeys', at('wrong keys')],
    code: 4,
    message: /wrong keys:2: the line must be: name sha256:/,
  },
  {
    what: 'no keys of clients',
    flags: ['-apiKeys', at('empty')],
    code: 4,
    message: /there is no key in it, so nobody could be served/,
  },
  {
    what: 'keys of clients without end',
    flags: ['-apiKeys', '/dev/zero'],
    code: 4,
    message: /-apiKeys: .*zero cannot be read: it is no regular file/,
  },
  {
    what: 'a certificate without end',
    flags: ['-https', '-key', at('key.pem'), '-cert', '/dev/zero'],
    code: 4,
    message: /-cert: '.*zero' cannot be read: it is no regular file/,
  },
  {
    what: 'a token without end',
    flags: ['-adminTokenFile', '/dev/zero'],
    code: 1,
    message: /'-adminTokenFile': .*zero' cannot be read: it is no regular file/,
  },
  {
    what: 'a token that is not there',
    flags: ['-adminTokenFile', at('none')],
    code: 1,
    message: /'-adminTokenFile': .* cannot be read: there is no such file or folder \(ENOENT\)/,
  },
  {
    what: 'two tokens',
    flags: ['-adminTokenFile', at('file'), '-adminToken', 'x'],
    code: 1,
    message: /-adminToken and -adminTokenFile cannot be used at the same time/,
  },
  {
    what: 'a log below a file',
    flags: ['-logDir', at('file')],
    code: 1,
    message: /\(-logDir\) cannot be written: a part of the path is no folder \(ENOTDIR\)/,
  },
  {
    what: 'the pid file of a process that lives',
    flags: ['-pidpath', at('pid')],
    code: 5,
    message: /PID-file .* found, a broker seems to be running already \(PID: \d+\)/,
  },
  {
    what: 'a mistyped flag',
    flags: ['-dbPahth', 'x'],
    code: 1,
    message: /'-dbPahth' not recognized\ndid you mean '-dbPath'\?/,
  },
  {
    what: 'a mistyped command',
    flags: [],
    before: ['bakcup'],
    code: 1,
    message: /'bakcup' not recognized\ndid you mean 'rigel backup'\?/,
  },
  {
    what: 'a wrong variable',
    flags: [],
    environment: { RIGEL_DB_SIZE_MAX: 'much' },
    code: 1,
    message: /RIGEL_DB_SIZE_MAX: 'much' is not an integer from 16 to/,
  },
]

/** What only somebody without rights meets. */
const refusalsOfNobody: readonly Refusal[] = [
  {
    what: 'a folder of somebody else',
    flags: ['-dbPath', at('whole')],
    code: 3,
    message:
      /lock cannot be used: the user of this process may not: change its owner or its rights, or use another user \(EACCES\)/,
  },
  {
    what: 'a file of locks of somebody else',
    flags: ['-dbPath', at('partly closed')],
    code: 3,
    message:
      /"FATAL".*partition-0\/lock\.mdb cannot be opened: the user of this process may not: change its owner or its rights, .*\(EACCES\)/,
  },
  {
    what: 'a data file of somebody else',
    flags: ['-dbPath', at('without a file')],
    code: 3,
    message:
      /"FATAL".*cannot be used: .*partition-1\/data\.mdb cannot be read: the user of this process may not: .*\(EACCES\)/,
  },
  {
    what: 'a place of somebody else',
    flags: ['-dbPath', at('closed/data')],
    code: 3,
    message: /cannot be made: the user of this process may not: .*\(EACCES\)/,
  },
  {
    what: 'a log of somebody else',
    flags: ['-logDir', at('closed')],
    code: 1,
    message: /\(-logDir\) cannot be written: the user of this process may not: .*\(EACCES\)/,
  },
]

root.before(async () => {
  await made(at('whole'), 2)
  cpSync(at('whole'), at('cut'), { recursive: true })
  rmSync(at('cut/partition-1/data.mdb'))
  for (const copy of ['partly closed', 'without a file']) cpSync(at('whole'), at(copy), { recursive: true })
  mkdirSync(at('closed'))
})
const none: readonly string[] = []

/** Starts the program, which has to end by itself; gives its exit code and all that it says. */
async function startRefusal(
  { flags, before = [], under = [], environment = {} }: Refusal,
  data = at('not made'),
  user = none,
) {
  const own = flags.includes('-dbPath') || before.length > 0 ? [] : ['-dbPath', data]
  const words = [brokerProgram, ...before, ...(before.length > 0 ? [] : ['-port', port]), ...flags, ...own]
  const [program = '', ...given] = [...user, ...under, 'sh', ...nodeBySh(words)]
  const child = spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment } })
  const [output, errors] = [text(child.stdout), text(child.stderr)]
  await once(child, 'close')
  return { code: child.exitCode, output: `${await output}${await errors}` }
}

test('what cannot be used at a start is said with what helps, and has its exit code', async (t) => {
  const left = refusals.values()
  const worker = async (data: string): Promise<void> => {
    for (const refusal of left) {
      const { code, output } = await startRefusal(refusal, data)
      t.equal(code, refusal.code, `${refusal.what}: ${output}`)
      t.match(output, refusal.message, refusal.what)
    }
  }
  await Promise.all([worker(at('one')), worker(at('another'))])
})

test('so is what only somebody without rights meets', {
  skip: withoutNobody,
}, async (t) => {
  for (const closed of ['closed', 'whole']) chmodSync(at(closed), 0o500)
  chmodSync(at('partly closed/partition-0/lock.mdb'), 0)
  chmodSync(at('without a file/partition-1/data.mdb'), 0)
  const partly = [at('partly closed'), at('without a file')]
  if (asNobody.length > 0) spawnSync('chown', ['-R', '65534:65534', ...partly])
  t.teardown(() => {
    for (const closed of ['closed', 'whole']) chmodSync(at(closed), 0o700)
  })
  for (const refusal of refusalsOfNobody) {
    const { code, output } = await startRefusal(refusal, at('one'), asNobody)
    t.equal(code, refusal.code, `${refusal.what}: ${output}`)
    t.match(output, refusal.message, refusal.what)
  }
})

test('the port of the management that somebody has is named as well', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const address = taken.address()
  const other = typeof address === 'object' && address ? `${address.port}` : ''
  const { code, output } = await startRefusal({ what: '', flags: ['-adminPort', other], code: 2, message: /./ })
  t.equal(code, 2)
  t.match(output, new RegExp(`port ${other} is in use`))
})

test('a key without HTTPS is told: whoever gives it believes to have that', async (t) => {
  // It ends because of the folder, after the warning.
  const flags = ['-key', at('key.pem'), '-cert', at('cert.pem'), '-dbPath', at('file')]
  t.match(await startRefusal({ what: '', flags, code: 3, message: /./ }), {
    output: /ignored command line options: -key, -cert/,
  })
})
