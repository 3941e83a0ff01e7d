import { test } from 'tap'
import { readOptions } from '../../src/flags/command-line.js'
import type { Options } from '../../src/flags/settings.js'
import { halfTheProcessors } from '../../src/machine.js'

/** All options of a command line without a flag. */
const defaults = {
  port: 1026,
  localIp: undefined,
  family: 'both',
  https: undefined,
  corsOrigin: undefined,
  corsMaxAge_s: 86400,
  reqTimeout_s: 0,
  connectionMemory_KiB: 64,
  maxConnections: 1020,
  connectionRequests: 16,
  idleTimeout_s: 300,
  bodyTimeout_s: 60,
  sendTimeout_s: 60,
  requestMemory_MiB: 64,
  responseMemory_MiB: 256,
  requestPermits: 256,
  reqMutexPolicy: 'all',
  inReqPayloadMaxSize: 1048576,
  dbPoolSize: 10,
  writeConcern: 1,
  multiservice: false,
  strictNgsiv1Ids: false,
  ngsiv1Autocast: false,
  apiKeys: undefined,
  rateLimit: undefined,
  statSemWait: false,
  statCounters: false,
  statTiming: false,
  statNotifQueue: false,
  disableMetrics: false,
  traceLevels: [],
  logLevel: 'WARN',
  logFormat: 'json',
  logForHumans: false,
  accessLog: 'on',
  stepWarning_ms: 250,
  logDir: undefined,
  logAppend: false,
  logSummary_s: 0,
  relogAlarms: false,
  logLineMaxSize: 32768,
  logInfoPayloadMaxSize: 5120,
  logDeprecate: false,
  pidPath: undefined,
  dbPath: './rigel-data',
  httpThreads: halfTheProcessors,
  partitions: undefined,
  queryThreads: 1,
  mailboxSize: 100000,
  typesPerId: 1000,
  entityCache_MiB: 64,
  entityMaxSize: 1048576,
  readCache_MiB: 64,
  pageMaxSize: 33554432,
  queryQueueSize: 1000,
  reqMaxWait_ms: 1000,
  queryTimeout_ms: 30000,
  dbSizeMax_MiB: 65536,
  dbCheckSize_MiB: 64,
  dbFreeMin_MiB: 64,
  expirationSweep_s: 60,
  cluster: undefined,
  verbose: 0,
  threadSilence_s: 30,
  shutdownTimeout_s: 30,
  adminPort: undefined,
  adminIp: '127.0.0.1',
  adminHosts: [],
  name: undefined,
  noConsole: false,
  adminToken: undefined,
  adminOpen: false,
  notifications: {
    httpTimeout_ms: 5000,
    mqttTimeout_ms: 5000,
    mqttMaxAge_ms: 3600000,
    mode: { kind: 'persistent' },
    simulated: false,
    customDisabled: false,
    insecure: false,
    forwardLimit: 1000,
    forwardsMax: 1000,
    forwardsEach: 500,
    forwardResponseMaxSize: 4194304,
    memory_MiB: 64,
    subscriptionsMax: 100000,
    patternSteps: 4000000,
    perEntity: 50000,
    registrationsMax: 100000,
    forwardMaxSize: 8388608,
    maxSize: 8388608,
    retention_s: 86400,
    queueMax: 100000,
    queueMax_MB: 4096,
    window_MiB: 32,
    retryMin_ms: 500,
    retryMax_ms: 60000,
    perReceiver: 8,
    total: 256,
    streams: { listeners: 1000, kept_ms: 30000, kept: 10000, kept_bytes: 16777216 },
    accept: '2xx',
    destinations: { allow: undefined, deny: undefined },
    initialLimit: 20,
    subscriptionGrace_days: 30,
  },
  ignored: [],
  misspelt: [],
}

const members = 'https://10.0.0.1:2379,https://10.0.0.2:2379'
const ofCity = `-cluster city -clusterUrl ${members} -nodeName north`
const city = {
  name: 'city',
  urls: members.split(','),
  prefix: '/rigel/city',
  node: 'north',
  ca: undefined,
  cert: undefined,
  key: undefined,
  user: undefined,
  passwordFile: undefined,
  logMax_MiB: 64,
  rebalanceDelay_s: 10,
  reads: 'confirmed',
  link: { port: 1027, ip: undefined, advertised: undefined, tls: undefined, tokenFile: 'tokens' },
}

/** Command lines, which together name each flag that makes an option, and where their options differ from the defaults. */
const commandLines: readonly (readonly [words: string, differences: object])[] = [
  [
    '-port 8080 -localIp 127.0.0.1 -ipv4 -httpThreads 3 -multiservice -strictNgsiv1Ids -ngsiv1Autocast',
    {
      port: 8080,
      localIp: '127.0.0.1',
      family: 'ipv4',
      multiservice: true,
      strictNgsiv1Ids: true,
      ngsiv1Autocast: true,
      httpThreads: 3,
    },
  ],
  [
    '-ipv6 -corsOrigin __ALL -corsMaxAge -1 -apiKeys keys -rateLimit 500:1000,tenantA=50',
    {
      family: 'ipv6',
      corsOrigin: '__ALL',
      corsMaxAge_s: -1,
      apiKeys: 'keys',
      rateLimit: { general: { perSecond: 500, burst: 1000 }, tenants: { tenanta: { perSecond: 50, burst: 50 } } },
    },
  ],
  ['-https -key key.pem -cert cert.pem', { https: { key: 'key.pem', cert: 'cert.pem' } }],
  ['-key key.pem -cert cert.pem -dbhost db:1 -fg -noCache', { ignored: ['-key', '-cert', '-dbhost', '-noCache'] }],
  [
    '-reqTimeout 9999999 -shutdownTimeout 9999999 -threadSilence 0 -reqPoolSize 9 -reqMutexPolicy write',
    {
      reqTimeout_s: 2147483,
      requestPermits: 9,
      reqMutexPolicy: 'write',
      threadSilence_s: 0,
      shutdownTimeout_s: 2147483,
    },
  ],
  [
    '-connectionMemory 1 -maxConnections 2 -connectionRequests 3 -idleTimeout 4 -bodyTimeout 5 -sendTimeout 6 -requestMemory 7 -answerMemory 8 -reqMaxWait 9',
    {
      connectionMemory_KiB: 1,
      maxConnections: 2,
      connectionRequests: 3,
      idleTimeout_s: 4,
      bodyTimeout_s: 5,
      sendTimeout_s: 6,
      requestMemory_MiB: 7,
      responseMemory_MiB: 8,
      reqMaxWait_ms: 9,
    },
  ],
  ['-inReqPayloadMaxSize 3000000', { inReqPayloadMaxSize: 3000000, entityMaxSize: 3000000 }],
  ['-inReqPayloadMaxSize 3000000 -entityMaxSize 2048', { inReqPayloadMaxSize: 3000000, entityMaxSize: 2048 }],
  [
    '-dbPath /data -partitions 5 -dbPoolSize 1 -dbSizeMax 16 -expirationSweep 2 -dbFreeMin 3 -dbCheckSize 4 -writeConcern 0 -mailboxSize 6',
    {
      dbPoolSize: 1,
      writeConcern: 0,
      dbPath: '/data',
      partitions: 5,
      mailboxSize: 6,
      dbSizeMax_MiB: 16,
      dbCheckSize_MiB: 4,
      dbFreeMin_MiB: 3,
      expirationSweep_s: 2,
    },
  ],
  [
    '-typesPerId 1 -entityCache 2 -readCache 3 -pageMaxSize 4096 -queryThreads 5 -queryQueueSize 6 -queryTimeout 7',
    {
      queryThreads: 5,
      typesPerId: 1,
      entityCache_MiB: 2,
      readCache_MiB: 3,
      pageMaxSize: 4096,
      queryQueueSize: 6,
      queryTimeout_ms: 7,
    },
  ],
  [
    '-mutexTimeStat -statCounters -statTiming -statNotifQueue -disableMetrics',
    { statSemWait: true, statCounters: true, statTiming: true, statNotifQueue: true, disableMetrics: true },
  ],
  [
    '-t 19,21-23 -logLevel debug -verbose 3 -logFormat pipe -logForHumans -accessLog errors -stepWarning 0',
    {
      traceLevels: [19, 21, 22, 23],
      logLevel: 'DEBUG',
      logFormat: 'pipe',
      accessLog: 'errors',
      logForHumans: true,
      stepWarning_ms: 0,
      verbose: 3,
    },
  ],
  [
    '-logLevel DEBUG -silent -logDir /log -logAppend -logSummary 60 -relogAlarms -logDeprecate',
    { logLevel: 'ERROR', logDir: '/log', logAppend: true, logSummary_s: 60, relogAlarms: true, logDeprecate: true },
  ],
  [
    '-logDir /log -disableFileLog -logLineMaxSize 100 -logInfoPayloadMaxSize 0 -pidpath /run/rigel.pid',
    { logLineMaxSize: 100, logInfoPayloadMaxSize: 0, pidPath: '/run/rigel.pid' },
  ],
  [
    '-adminPort 1027 -adminIp 0.0.0.0 -adminHosts hub.example,*.lan -name plant-1 -noConsole -adminOpen',
    {
      name: 'plant-1',
      adminPort: 1027,
      adminIp: '0.0.0.0',
      adminHosts: ['hub.example', '*.lan'],
      noConsole: true,
      adminOpen: true,
    },
  ],
  ['-adminToken kite-harbour-lantern-7', { adminToken: 'kite-harbour-lantern-7' }],
  [
    '-httpTimeout 70 -mqttTimeout 80 -mqttMaxAge 2 -notificationMode threadpool:100:4,acme:50:2 -simulatedNotification -disableCustomNotifications -insecureNotif',
    {
      notifications: {
        httpTimeout_ms: 70,
        mqttTimeout_ms: 80,
        mqttMaxAge_ms: 120000,
        mode: { kind: 'threadpool', total: 4, services: { acme: 2 } },
        simulated: true,
        customDisabled: true,
        insecure: true,
      },
    },
  ],
  [
    '-cprForwardLimit 1 -forwardMax 7 -cprAnswerMaxSize 2 -notifMemory 3 -subscriptionsMax 4 -subscriptionPatternSteps 5 -subscriptionsPerEntity 6 -registrationsMax 8 -subscriptionGrace 9',
    {
      notifications: {
        forwardLimit: 1,
        forwardsMax: 7,
        forwardsEach: 4,
        forwardResponseMaxSize: 2,
        memory_MiB: 3,
        subscriptionsMax: 4,
        patternSteps: 5,
        perEntity: 6,
        registrationsMax: 8,
        subscriptionGrace_days: 9,
      },
    },
  ],
  [
    '-forwardPerProvider 6 -outReqMsgMaxSize 9 -notifRetention 1 -notifQueueMax 2 -notifQueueMaxMb 3 -notifWindow 4 -notifRetryMin 70000 -notifPerReceiver 4 -notifTotal 5',
    {
      notifications: {
        forwardsEach: 6,
        forwardMaxSize: 9,
        maxSize: 9,
        retention_s: 1,
        queueMax: 2,
        queueMax_MB: 3,
        window_MiB: 4,
        retryMin_ms: 70000,
        retryMax_ms: 70000,
        perReceiver: 4,
        total: 5,
      },
    },
  ],
  [
    '-notifMaxSize 5 -notifRetryMax 900 -sseListeners 1 -sseKeep 2 -sseKeepMax 3 -sseKeepMaxMb 4 -notifAccept any -notifAllow 10.0.0.0/8,hub.example -notifDeny ::1 -initialNotificationLimit 0',
    {
      notifications: {
        maxSize: 5,
        retryMax_ms: 900,
        streams: { listeners: 1, kept_ms: 2000, kept: 3, kept_bytes: 4194304 },
        accept: 'any',
        destinations: {
          allow: { networks: [{ family: 'ipv4', address: '10.0.0.0', prefix: 8 }], names: ['hub.example'] },
          deny: { networks: [{ family: 'ipv6', address: '::1', prefix: 128 }], names: [] },
        },
        initialLimit: 0,
      },
    },
  ],
  [`${ofCity} -clusterTokenFile tokens`, { cluster: city }],
  [
    `${ofCity} -clusterPrefix /keys -clusterTokenFile tokens -clusterPort 7 -clusterIp 127.0.0.1 -clusterAdvertise north:8 -clusterLogMax 1 -clusterRebalanceDelay 2 -clusterReads local`,
    {
      cluster: {
        ...{ ...city, prefix: '/keys', logMax_MiB: 1, rebalanceDelay_s: 2, reads: 'local' },
        link: { port: 7, ip: '127.0.0.1', advertised: { host: 'north', port: 8 }, tls: undefined, tokenFile: 'tokens' },
      },
    },
  ],
  [
    `${ofCity} -clusterKey k -clusterCert c -clusterCa a -etcdCa A -etcdCert C -etcdKey K -etcdUser u -etcdPasswordFile p`,
    {
      cluster: {
        ...{ ...city, ca: 'A', cert: 'C', key: 'K', user: 'u', passwordFile: 'p' },
        link: {
          ...{ port: 1027, ip: undefined, advertised: undefined, tls: { key: 'k', cert: 'c', ca: 'a' } },
          tokenFile: undefined,
        },
      },
    },
  ],
]

type Members = Readonly<Record<string, unknown>>

test('a command line makes these options, and no others', async (t) => {
  t.strictSame(made(''), defaults)
  t.throws(() => Object.assign(made('').notifications, { total: 1 }), 'options are frozen throughout')
  for (const [words, differences] of commandLines) t.strictSame(made(words), changed(defaults, differences), words)
})

function made(words: string): Options {
  const read = readOptions(
    words.split(' ').filter((word) => word !== ''),
    {},
  )
  if (read.kind !== 'run') throw new Error(read.text)
  return read.options
}

function changed(members: Members, differences: object): Members {
  const pairs = Object.entries(differences).map(([name, value]): readonly [string, unknown] => {
    const before = members[name]
    return [name, isObject(before) && isObject(value) ? changed(before, value) : value]
  })
  return { ...members, ...Object.fromEntries(pairs) }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
