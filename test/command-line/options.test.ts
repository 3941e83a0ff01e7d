import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { openManagementPort, readOptions, switchesOf, warningsOf } from '../../src/flags/command-line.js'
import { readCommand } from '../../src/flags/command-words.js'
import { flagRules } from '../../src/flags/flag-help.js'
import { flagsByName, takesValue } from '../../src/flags/flags.js'
import type { Options } from '../../src/flags/settings.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

type Env = Readonly<Record<string, string>>

/** The options of a command line that is right. */
function options(argv: readonly string[], env: Env = {}): Options {
  const read = readOptions(argv, env)
  if (read.kind !== 'run') throw new Error(read.text)
  return read.options
}

/** What is printed on request. */
function printed(...argv: readonly string[]): string {
  const read = readOptions(argv, {})
  if (read.kind !== 'print') throw new Error(`nothing to print but ${read.kind}`)
  return read.text
}

/** The line that names what is wrong. */
function mistake(argv: readonly string[], env: Env = {}): string | undefined {
  const read = readOptions(argv, env)
  return read.kind === 'wrong' ? read.text.split('\n')[0] : `not wrong: ${read.kind}`
}

test('a flag has one dash or two, and its value after a space or an equals sign', async (t) => {
  for (const words of [['-port', '8080'], ['--port', '8080'], ['-port=8080'], ['--port=8080']])
    t.equal(options(words).port, 8080, words.join(' '))
  t.equal(options(['-corsMaxAge', '-1']).corsMaxAge_s, -1, 'a value may begin with a dash')
  t.same(options(['--t=7', '--logLevel', 'info']).traceLevels, [7])
  t.equal(options(['-adminToken', 'a=b=c']).adminToken, 'a=b=c')
  t.equal(options(['-adminToken=--a=b']).adminToken, '--a=b')
})

test('a switch is on without a value and takes true or false behind an equals sign', async (t) => {
  t.equal(options(['-multiservice']).multiservice, true)
  t.equal(options(['-multiservice=true']).multiservice, true)
  t.equal(options(['--multiservice=false']).multiservice, false)
})

test('the last of several equal flags counts, also of those that are one by two names', async (t) => {
  t.equal(options(['-port', '1', '-port', '2']).port, 2)
  t.equal(options(['-multiservice', '-multiservice=false']).multiservice, false)
  t.equal(options(['-mutexTimeStat']).statSemWait, true)
  t.equal(options(['-statSemWait']).statSemWait, true)
  t.equal(options(['-mutexTimeStat', '-statSemWait=false']).statSemWait, false)
  t.equal(options(['-statSemWait=false', '-mutexTimeStat']).statSemWait, true)
  t.equal(options(['--silent']).logLevel, 'ERROR')
  t.equal(options(['--silent', '-logLevel', 'DEBUG']).logLevel, 'DEBUG')
  t.equal(options(['-logLevel', 'DEBUG', '--silent']).logLevel, 'ERROR')
  t.equal(options(['-logLevel', 'DEBUG', '--silent=false']).logLevel, 'DEBUG')
})

test('the flag wins over the variable, the variable over the default', async (t) => {
  t.equal(options([], { ORION_PORT: '2000' }).port, 2000)
  t.equal(options(['-port', '3000'], { ORION_PORT: '2000' }).port, 3000)
  t.equal(options(['-port', '3000'], { ORION_PORT: 'x' }).port, 3000, 'what does not count is not looked at')
  t.equal(options([], { ORION_PORT: '' }).port, 1026, 'an empty variable is like none')
  t.equal(options(['-multiservice=false'], { ORION_MULTI_SERVICE: 'TRUE' }).multiservice, false)
  t.equal(options(['-statSemWait=false'], { ORION_MUTEX_TIME_STAT: 'true' }).statSemWait, false)
  t.equal(options(['--silent'], { ORION_LOG_LEVEL: 'DEBUG' }).logLevel, 'ERROR')
  t.equal(options([], { RIGEL_NOTIF_QUEUE_MAX_MB: '7' }).notifications.queueMax_MB, 7)
})

test('a flag that is almost right is named', async (t) => {
  const advice = (word: string) => {
    const read = readOptions([word], {})
    const line = read.kind === 'wrong' ? read.text.split('\n')[1] : undefined
    return line?.startsWith('Usage') ? undefined : line
  }
  for (const word of ['-prot', '-Port', 'port', '--porrt']) t.equal(advice(word), "did you mean '-port'?")
  t.equal(advice('-multiservices'), "did you mean '-multiservice'?")
  t.equal(advice('-admintoken=secret'), "did you mean '-adminToken'?")
  for (const word of ['-colour', '-', '', '-x', '-zz', 'harbour']) t.equal(advice(word), undefined)
})

test('the first word may be a command', async (t) => {
  t.match(readCommand(['-port', '1']), { kind: 'flags', words: ['-port', '1'] })
  t.match(readCommand([]), { kind: 'flags', words: [] })
  t.match(readCommand(['version']), { kind: 'flags', words: ['--version'] })
  t.match(readCommand(['bench', 'ingest', '--rounds', '1']), { kind: 'program', words: ['ingest', '--rounds', '1'] })
  t.match(readCommand(['help', 'feed']), { kind: 'program', words: ['--help'] })
  t.match(readCommand(['help']), { kind: 'print', text: /^Usage: rigel .*\n {2}bench .*\n {2}feed .*\n/s })
  t.same(readCommand(['--help', 'feed']), readCommand(['help', 'feed']))
  t.same(readCommand(['-h', 'backup']), readCommand(['help', 'backup']))
  t.match(readCommand(['-h', 'harbour']), { kind: 'flags' })
  t.match(readCommand(['help', 'version']), { kind: 'print', text: /^rigel version: / })
  t.match(readCommand(['bnech']), { kind: 'wrong', text: /^'bnech' not recognized\ndid you mean 'rigel bench'\?\n/ })
  t.match(readCommand(['help', 'harbour']), { kind: 'wrong', text: /^'harbour' not recognized\n'rigel help' lists/ })
})

test('variables of switches take true and false, small or capital', async (t) => {
  for (const text of ['true', 'TRUE']) t.equal(options([], { ORION_STAT_TIMING: text }).statTiming, true)
  for (const text of ['false', 'FALSE']) t.equal(options([], { ORION_STAT_TIMING: text }).statTiming, false)
  t.equal(mistake([], { ORION_HTTPS: 'yes' }), "ORION_HTTPS: 'yes' is neither true nor false")
})

test('every flag of our own has the variable that its name makes', async (t) => {
  for (const [name, flag] of flagsByName) {
    if (!flag.variable?.startsWith('RIGEL_')) continue
    t.equal(flag.variable, `RIGEL_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`)
  }
})

test('a wrong command line is named in one line, followed by the text of -u', async (t) => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['-colour', 'red'], "'-colour' not recognized"],
    [['--colour=red'], "'--colour' not recognized"],
    [['-Port', '1'], "'-Port' not recognized"],
    [['word'], "'word' not recognized"],
    [['-multiservice', 'true'], "'true' not recognized"],
    [['--', '-port'], "'--' not recognized"],
    [['-'], "'-' not recognized"],
    [[''], "'' not recognized"],
    [['-port'], "'-port': value missing"],
    [['-port='], "'-port': value missing"],
    [['-port', ''], "'-port': value missing"],
    [['-port', '-multiservice'], "'-port': value missing"],
    [['-dbhost', '--multiservice'], "'-dbhost': value missing"],
    [['-adminToken='], "'-adminToken': value missing"],
    [['--port', '99999'], "'-port': '99999' is not an integer from 1 to 65535"],
    [['-port', '0x10'], "'-port': '0x10' is not an integer from 1 to 65535"],
    [['-port', '1e3'], "'-port': '1e3' is not an integer from 1 to 65535"],
    [['-port', ' 80'], "'-port': ' 80' is not an integer from 1 to 65535"],
    [['-corsMaxAge', '-2'], "'-corsMaxAge': '-2' is not an integer from -1 to 86400"],
    [['-maxConnections', '0'], "'-maxConnections': '0' is not an integer of at least 1"],
    [
      ['-shutdownTimeout', '99999999999999999999'],
      "'-shutdownTimeout': '99999999999999999999' is not an integer from 0 to 9007199254740991",
    ],
    [['-multiservice=maybe'], "'-multiservice': no value allowed ('maybe')"],
    [['-multiservice=TRUE'], "'-multiservice': no value allowed ('TRUE')"],
    [['-reqMutexPolicy', 'some'], "'-reqMutexPolicy': 'some' is not one of all, read, write, none"],
    [['-logLevel', 'LOUD'], "'-logLevel': 'LOUD' is not one of NONE, FATAL, ERROR, WARN, INFO, DEBUG"],
    [['-t', '9-3'], "'-t': '9-3' is not a list of trace levels from 0 to 255, such as 19,21-25"],
    [['-localIp', 'host'], "'-localIp': 'host' is not an IP address"],
    [['-ipv4', '-ipv6'], '-ipv4 and -ipv6 cannot be used at the same time'],
    [['-ipv4', '-localIp', '::1'], "'-localIp': '::1' is not an IPv4 address"],
    [['-ipv6', '-localIp', '127.0.0.1'], "'-localIp': '127.0.0.1' is not an IPv6 address"],
    [['-https'], '-https needs -key'],
    [['-https', '-key', 'k'], '-https needs -cert'],
    [['-adminToken', 'a', '-adminTokenFile', 'b'], '-adminToken and -adminTokenFile cannot be used at the same time'],
    [['-rush', 'relay:1'], "'-rush' is not supported: notifications would not go through the relay"],
    [['-ngsi9'], "'-ngsi9' is not supported: registrations would not be forwarded"],
    [
      ['-notifRetryMin', '900', '-notifRetryMax', '800'],
      "'-notifRetryMax': '800' is not an integer from 900 to 86400000",
    ],
    [['-port', 'a\nb'], "'-port': 'a\\nb' is not an integer from 1 to 65535"],
  ]
  for (const [argv, line] of cases) {
    t.equal(mistake(argv), line)
    t.match(readOptions(argv, {}), {
      kind: 'wrong',
      text: `
${printed('-u')}`,
      exitCode: 1,
    })
  }
  t.equal(mistake([], { ORION_PORT: '99999' }), "ORION_PORT: '99999' is not an integer from 1 to 65535")
})

test('flags without effect are accepted whatever their values and named together', async (t) => {
  const read = options(['-dbhost', 'db:1', '-rplSet', '', '-noCache=maybe', '-harakiri'], { ORION_MONGO_DB: 'orion' })
  t.same(read.ignored, ['ORION_MONGO_DB', '-dbhost', '-rplSet', '-noCache', '-harakiri'])
  t.equal(warningsOf(read)[0], 'ignored command line options: ORION_MONGO_DB, -dbhost, -rplSet, -noCache, -harakiri')
  t.match(warningsOf(read)[1], /rigel import --orion reads a dump/)
  t.same(options(['-fg']).ignored, [], 'the foreground is what was asked for')
})

test('-adminIp without -adminPort has no effect and is named', async (t) => {
  t.same(options(['-adminIp', '127.0.0.2']).ignored, ['-adminIp'])
  t.same(options([], { RIGEL_ADMIN_IP: '127.0.0.2' }).ignored, ['RIGEL_ADMIN_IP'])
  t.same(options(['-adminIp', '127.0.0.2', '-adminPort', '1030']).ignored, [])
})

test('an origin that no browser sends is refused', async (t) => {
  const right = [
    '__ALL',
    'null',
    'https://panel.example',
    'http://localhost:3000',
    'http://[::1]:8080',
    'moz-extension://ab-1',
  ]
  for (const origin of right) t.equal(options(['-corsOrigin', origin]).corsOrigin, origin)
  const wrong = [
    '*',
    'foo',
    'panel.example',
    'https://panel.example/',
    'https://Panel.example',
    'https://panel.example:443',
  ]
  for (const origin of [...wrong, 'https://a.example,https://b.example', 'https://a@panel.example', 'data:x']) {
    t.equal(
      mistake(['-corsOrigin', origin]),
      `'-corsOrigin': '${origin}' is not an origin as browsers send it, such as https://panel.example, nor __ALL for every origin`,
    )
  }
})

/** The names of variables that are read as misspelt, and the variables that they are taken for. */
function takenFor(...names: readonly string[]): readonly string[] {
  return warningsOf(options([], Object.fromEntries(names.map((name) => [name, '3']))))
}

test('a variable that looks like that of a setting is named with the one that was probably meant', async (t) => {
  t.same(takenFor('RIGEL_SHUTDOWN', 'RIGEL_DBPATH', 'RIGEL_ADMN_PORT'), [
    'RIGEL_SHUTDOWN is no setting: did you mean RIGEL_SHUTDOWN_TIMEOUT?',
    'RIGEL_DBPATH is no setting: did you mean RIGEL_DB_PATH?',
    'RIGEL_ADMN_PORT is no setting: did you mean RIGEL_ADMIN_PORT?',
  ])
  t.same(warningsOf(options([], { RIGEL_SHUTDOWN: '', RIGEL_SHUTDOWN_TIMEOUT: '3' })), [])
})

test('other variables with the prefix are not: of Kubernetes, of the build, of the tests', async (t) => {
  const port = '_PORT_1026_TCP'
  const ofService = [
    '_SERVICE_HOST',
    '_SERVICE_PORT',
    '_SERVICE_PORT_HTTP',
    port,
    `${port}_PROTO`,
    `${port}_PORT`,
    `${port}_ADDR`,
  ]
  for (const service of ['RIGEL', 'RIGEL_NODES', 'RIGEL_NODE'])
    t.same(takenFor(...ofService.map((end) => service + end)), [])
  t.same(warningsOf(options([], { RIGEL_PORT: 'tcp://10.0.0.1:1026', RIGEL_ADMN_PORT: 'tcp://10.0.0.2:1030' })), [])
  const pages = ['CONTRIBUTING.md', 'Dockerfile'].map((page) => readFileSync(join(root, page), 'utf8')).join('')
  const named = [...new Set([...pages.matchAll(/RIGEL_[A-Z_]*[A-Z]/g)].map(([name]) => name))]
  const known = new Set([...flagsByName.values()].map(({ variable }) => variable))
  t.same(takenFor(...named.filter((name) => !known.has(name))), [])
})

test('flags of notifications are checked and kept', async (t) => {
  const read = options(['-cprForwardLimit', '60', '-simulatedNotification', '-mqttMaxAge', '3'])
  t.equal(read.notifications.forwardLimit, 60)
  t.equal(read.notifications.simulated, true)
  t.same(read.ignored, [])
  t.match(mistake(['-mqttTimeout', '1800001']), /is not an integer from -1 to 1800000$/)
  t.match(mistake(['-mqttMaxAge', '0']), /is not an integer of at least 1$/)
  t.match(mistake(['-notifRetention', '0']), /is not an integer from 1 to 31536000$/)
})

test('the modes of notification', async (t) => {
  const mode = (text: string) => options(['-notificationMode', text]).notifications.mode
  t.same(mode('transient'), { kind: 'transient' })
  t.same(mode('permanent'), { kind: 'persistent' })
  t.same(mode('threadpool:100:4,acme:50:2'), { kind: 'threadpool', total: 4, services: { acme: 2 } })
  t.same(mode('threadpool'), { kind: 'threadpool', total: undefined, services: {} })
  for (const text of ['threadpool:', 'threadpool,acme:1:1', 'threadpool:0:1', 'threadpool:1:1,a:1:1,a:2:2', 'pool:1:1'])
    t.match(mistake(['-notificationMode', text]), /is not one of transient, persistent, permanent, threadpool/, text)
})

test('values that depend on others', async (t) => {
  t.equal(options(['-reqPoolSize', '0']).requestPermits, 256)
  t.equal(options(['-reqPoolSize', '3']).requestPermits, 3)
  t.equal(options(['-httpTimeout', '-1']).notifications.httpTimeout_ms, 5000)
  t.equal(options(['-mqttTimeout', '0']).notifications.mqttTimeout_ms, 5000)
  t.equal(options(['-mqttTimeout', '70', '-mqttMaxAge', '2']).notifications.mqttTimeout_ms, 70)
  t.equal(options(['-mqttMaxAge', '2']).notifications.mqttMaxAge_ms, 120_000)
  t.equal(options(['-outReqMsgMaxSize', '9']).notifications.maxSize, 9)
  t.equal(options(['-outReqMsgMaxSize', '9', '-notifMaxSize', '5']).notifications.maxSize, 5)
  t.equal(options(['-notifRetryMin', '70000']).notifications.retryMax_ms, 70000)
  t.equal(options(['-logDir', '/x', '-disableFileLog']).logDir, undefined)
  t.equal(options(['-reqTimeout', '9999999']).reqTimeout_s, 2147483, 'a timer holds no more')
  t.same(options(['-https', '-key', 'k', '-cert', 'c']).https, { key: 'k', cert: 'c' })
})

test('the token comes from the first line of its file', async (t) => {
  const folder = t.testdir({ token: 'kite-harbour-lantern-7\r\nmore', empty: '\n' })
  t.equal(options(['-adminTokenFile', join(folder, 'token')]).adminToken, 'kite-harbour-lantern-7')
  const empty = join(folder, 'empty')
  t.equal(
    mistake(['-adminTokenFile', empty]),
    `'-adminTokenFile': '${empty}' holds no token: its first line is to be the token`,
  )
  const none = join(folder, 'none')
  t.equal(
    mistake([], { RIGEL_ADMIN_TOKEN_FILE: none }),
    `RIGEL_ADMIN_TOKEN_FILE: '${none}' cannot be read: there is no such file or folder (ENOENT)`,
  )
})

test('an operator is told of an open management interface and of a short token', async (t) => {
  const openPort = (...words: readonly string[]) => openManagementPort(options(words))
  t.equal(openPort(), 1026)
  t.equal(openPort('-localIp', '192.0.2.1'), 1026)
  t.equal(openPort('-adminPort', '1027', '-adminIp', '0.0.0.0'), 1027)
  t.equal(openPort('-adminToken', 'kite-harbour-lantern-7'), undefined)
  t.equal(openPort('-adminPort', '1027'), undefined)
  t.equal(openPort('-localIp', '127.0.0.1'), undefined)
  t.equal(openPort('-localIp', '::1'), undefined)
  t.same(warningsOf(options(['-adminToken', 'kite-harbour-lantern-7'])), [])
  t.same(warningsOf(options(['-adminToken', 'short'])), ['the management token is shorter than 16 characters'])
})

test('help, usage and version are printed with exit code 0', async (t) => {
  for (const flag of ['-h', '--help', '-U']) {
    const help = printed(flag)
    t.ok(help.includes(flagRules))
    t.match(help, /'rigel help' lists the commands/)
    for (const [name, { variable, meaning }] of flagsByName) {
      t.ok(help.includes(`\n  -${name}`), name)
      t.ok(help.includes(meaning), meaning)
      if (variable !== undefined) t.ok(help.includes(variable), variable)
    }
  }
  const usage = printed('-u')
  for (const [name, flag] of flagsByName) t.ok(usage.includes(takesValue(flag) ? `[-${name} <` : `[-${name}]`), name)
  for (const flag of ['-v', '--version']) {
    t.match(
      printed(flag),
      /^rigel \d+\.\d+\.\d+ \(git (nogitversion|[0-9a-f]{7})\)\nnode v\d+\S+, lmdb \d+\S+, \w+ \w+\n$/,
    )
  }
  t.match(readOptions(['-port', '1', '-h', '-colour'], {}), { kind: 'print' }, 'the first word that decides is obeyed')
})

test('settings say where they came from and hide what is secret', async (t) => {
  const read = readOptions(['-port', '8080', '-dbpwd', 'pass'], { RIGEL_ADMIN_TOKEN: 'kite-harbour-lantern-7' })
  if (read.kind !== 'run') throw new Error(read.text)
  const setting = (name: string) => read.settings.find(({ flag }) => flag === name)
  t.has(setting('-port'), { flag: '-port', value: '8080', source: 'command line' })
  t.has(setting('-adminToken'), { flag: '-adminToken', value: '***', source: 'RIGEL_ADMIN_TOKEN' })
  t.has(setting('-dbpwd'), { flag: '-dbpwd', value: '***', source: 'command line' })
  t.has(setting('-logLevel'), { flag: '-logLevel', value: 'WARN', source: 'default' })
  const { byDefault, takes, meaning, variable, group } = setting('-port') ?? {}
  t.same(
    [byDefault, takes, meaning, variable, group],
    ['1026', '1 to 65535', 'port of the interface', 'ORION_PORT', 'Network'],
  )
  t.notMatch(JSON.stringify(read.settings), /kite|pass"/)
})

test('the switches begin as the options say', async (t) => {
  const switches = switchesOf(options(['-t', '0-2,255', '-logLevel', 'info', '-verbose', '4', '-mutexTimeStat']))
  t.same(
    [0, 1, 2, 3, 255].map((level) => switches.traces[level]),
    [1, 1, 1, 0, 1],
  )
  t.equal(switches.get('logLevel'), 4)
  t.equal(switches.get('verbosity'), 4)
  t.equal(switches.get('statSemWait'), 1)
  t.equal(switches.get('statTiming'), 0)
  t.equal(switches.get('lineMaxSize'), 32768)
  t.equal(switches.get('infoPayloadMaxSize'), 5120)
})
