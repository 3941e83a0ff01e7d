import { isIPv4, isIPv6 } from 'node:net'
import { systemFaultText } from '../faults.js'
import { halfTheProcessors } from '../machine.js'
import { err, ok, type Result } from '../result.js'
import { readTextFile } from '../text-file.js'
import type { Flag, Printing, Switch, ValueFlag } from './flag.js'
import { flags, flagsByName } from './flags.js'
import { clusterFlags, defaultNodeName } from './flags-cluster.js'
import { runningFlags } from './flags-running.js'
import { servingFlags } from './flags-serving.js'
import type { Settings } from './words.js'

/**
 * The line that names settings which contradict each other; undefined when there are none [management 9.1]. A command that only
 * asks about a cluster (`isNode` false) needs no settings for links between nodes.
 */
export function contradiction(settings: Settings, isNode: boolean): string | undefined {
  const { value, on } = reading(settings)
  const localIp = value(flags.localIp)
  const source = settings.get(flags.localIp)?.source
  if (on(flags.ipv4) && on(flags.ipv6)) return '-ipv4 and -ipv6 cannot be used at the same time'
  if (localIp !== undefined && on(flags.ipv4) && !isIPv4(localIp))
    return `${source}: '${localIp}' is not an IPv4 address`
  if (localIp !== undefined && on(flags.ipv6) && !isIPv6(localIp))
    return `${source}: '${localIp}' is not an IPv6 address`
  if (on(flags.https) && value(flags.key) === undefined) return '-https needs -key'
  if (on(flags.https) && value(flags.cert) === undefined) return '-https needs -cert'
  if (settings.has(flags.adminToken) && settings.has(flags.adminTokenFile))
    return '-adminToken and -adminTokenFile cannot be used at the same time'
  for (const token of ['adminToken', 'adminTokenFile'] as const) {
    if (on(flags.adminOpen) && settings.has(flags[token]))
      return `-adminOpen and -${token} cannot be used at the same time`
  }
  if (value(flags.adminPort) === value(flags.port) && (localIp === undefined || localIp === value(flags.adminIp)))
    return `${settings.get(flags.adminPort)?.source}: '${value(flags.port)}' is the port of the context interface (-port) as well`
  const ofCluster = clusterContradiction(settings, isNode)
  if (ofCluster !== undefined) return ofCluster
  const retryMin = value(flags.notifRetryMin)
  const retryMax = value(flags.notifRetryMax)
  if (retryMax !== undefined && retryMax < retryMin)
    return `${settings.get(flags.notifRetryMax)?.source}: '${retryMax}' is not an integer from ${retryMin} to 86400000`
  return undefined
}

function clusterContradiction(settings: Settings, isNode: boolean): string | undefined {
  const { value } = reading(settings)
  if (!settings.has(flags.cluster)) {
    const name = Object.entries(clusterFlags).find(([, flag]) => settings.has(flag))?.[0]
    return name && `-${name} needs -cluster`
  }
  if (!settings.has(flags.clusterUrl)) return '-cluster needs -clusterUrl'
  for (const [name, flag] of flagsByName) {
    const needed = flag.needs === undefined ? undefined : flagsByName.get(flag.needs)
    if (needed !== undefined && settings.has(flag) && !settings.has(needed)) return `-${name} needs -${flag.needs}`
  }
  const isSecured = value(flags.clusterUrl).every((url) => url.startsWith('https:'))
  if (!isSecured && settings.has(flags.etcdCa)) return '-etcdCa needs a -clusterUrl with https'
  if (!isSecured && settings.has(flags.etcdCert)) return '-etcdCert needs a -clusterUrl with https'
  if (value(flags.writeConcern) === 0) return '-writeConcern 0 and -cluster cannot be used at the same time'
  if (isNode && !settings.has(flags.clusterTokenFile) && !settings.has(flags.clusterKey))
    return '-cluster needs -clusterTokenFile or -clusterKey: nodes have to know each other'
  return undefined
}

/** The token of the management interface, from its flag or from the first line of its file [management 13]. */
export function tokenFrom(settings: Settings): Result<string | undefined, string> {
  const { value } = reading(settings)
  const file = value(flags.adminTokenFile)
  if (file === undefined) return ok(value(flags.adminToken))
  const source = settings.get(flags.adminTokenFile)?.source
  try {
    const token = readTextFile(file).split(/\r?\n/, 1)[0]?.trim()
    return token ? ok(token) : err(`${source}: '${file}' holds no token: its first line is to be the token`)
  } catch (error) {
    return err(`${source}: '${file}' cannot be read: ${systemFaultText(error)}`)
  }
}

/** All options, complete and frozen; read once from the command line and the environment [management 9]. */
export type Options = ReturnType<typeof optionsFrom>

/** How notifications are delivered and requests forwarded [subscriptions 5.5, 8.4]. */
export type NotificationOptions = ReturnType<typeof notificationsFrom>

/** The options from settings without contradiction: first those that are computed, then those that are the flag's value. */
export function optionsFrom(settings: Settings, adminToken: string | undefined, misspelt: readonly string[]) {
  const { ipv4, ipv6, https, key, cert, answerMemory_MiB, reqPoolSize, ...serving } = optionsOf(servingFlags, settings)
  const { t, silent, mutexTimeStat, disableFileLog, pidpath, fg, adminTokenFile, ...running } = optionsOf(
    runningFlags,
    settings,
  )
  return frozen({
    ...serving,
    ...running,
    family: ipv4 ? 'ipv4' : ipv6 ? 'ipv6' : 'both',
    https: https && key !== undefined && cert !== undefined ? { key, cert } : undefined,
    reqTimeout_s: Math.min(serving.reqTimeout_s, longestTimer_s),
    responseMemory_MiB: answerMemory_MiB,
    requestPermits: reqPoolSize || 256,
    writeConcern: serving.writeConcern === 0 ? 0 : 1,
    httpThreads: serving.httpThreads ?? halfTheProcessors,
    entityMaxSize: serving.entityMaxSize ?? Math.max(1_048_576, serving.inReqPayloadMaxSize),
    statSemWait: latest(settings, flags.statSemWait, flags.mutexTimeStat) === 'true',
    traceLevels: t,
    logLevel: silenced(settings) ? 'ERROR' : running.logLevel,
    logDir: disableFileLog ? undefined : running.logDir,
    pidPath: pidpath,
    shutdownTimeout_s: Math.min(running.shutdownTimeout_s, longestTimer_s),
    adminToken,
    cluster: clusterFrom(settings),
    notifications: notificationsFrom(settings),
    // Flags that were given without effect, for a warning at the start.
    ignored: namesOf(settings, (flag) => flag.kind === 'ignored' || lacksOther(flag, settings)),
    // Variables that are no settings, each as the sentence of its warning.
    misspelt,
  })
}

function clusterFrom(settings: Settings) {
  const { value } = reading(settings)
  const name = value(flags.cluster)
  if (name === undefined) return undefined
  return frozen({
    name,
    urls: value(flags.clusterUrl),
    prefix: value(flags.clusterPrefix) ?? `/rigel/${name}`,
    node: value(flags.nodeName) ?? defaultNodeName(),
    ca: value(flags.etcdCa),
    cert: value(flags.etcdCert),
    key: value(flags.etcdKey),
    user: value(flags.etcdUser),
    passwordFile: value(flags.etcdPasswordFile),
    logMax_MiB: value(flags.clusterLogMax),
    rebalanceDelay_s: value(flags.clusterRebalanceDelay),
    reads: value(flags.clusterReads),
    link: linkFrom(settings),
  })
}

function linkFrom(settings: Settings) {
  const { value } = reading(settings)
  const [key, cert, ca] = [value(flags.clusterKey), value(flags.clusterCert), value(flags.clusterCa)]
  return frozen({
    port: value(flags.clusterPort),
    ip: value(flags.clusterIp),
    advertised: value(flags.clusterAdvertise),
    tls: key === undefined || cert === undefined || ca === undefined ? undefined : { key, cert, ca },
    tokenFile: value(flags.clusterTokenFile),
  })
}

function notificationsFrom(settings: Settings) {
  const { value, on } = reading(settings)
  const httpTimeout_ms = value(flags.httpTimeout)
  const mqttTimeout_ms = value(flags.mqttTimeout)
  const forwardMaxSize = value(flags.outReqMsgMaxSize)
  const retryMin_ms = value(flags.notifRetryMin)
  return frozen({
    httpTimeout_ms: httpTimeout_ms <= 0 ? 5000 : httpTimeout_ms,
    mqttTimeout_ms: mqttTimeout_ms <= 0 ? 5000 : mqttTimeout_ms,
    mqttMaxAge_ms: value(flags.mqttMaxAge) * 60_000,
    mode: value(flags.notificationMode),
    simulated: on(flags.simulatedNotification),
    customDisabled: on(flags.disableCustomNotifications),
    insecure: on(flags.insecureNotif),
    forwardLimit: value(flags.cprForwardLimit),
    forwardsMax: value(flags.forwardMax),
    forwardsEach: value(flags.forwardPerProvider) ?? Math.ceil(value(flags.forwardMax) / 2),
    forwardResponseMaxSize: value(flags.cprAnswerMaxSize),
    memory_MiB: value(flags.notifMemory),
    subscriptionsMax: value(flags.subscriptionsMax),
    patternSteps: value(flags.subscriptionPatternSteps),
    perEntity: value(flags.subscriptionsPerEntity),
    registrationsMax: value(flags.registrationsMax),
    forwardMaxSize,
    maxSize: value(flags.notifMaxSize) ?? forwardMaxSize,
    retention_s: value(flags.notifRetention),
    queueMax: value(flags.notifQueueMax),
    queueMax_MB: value(flags.notifQueueMaxMb),
    window_MiB: value(flags.notifWindow),
    retryMin_ms,
    retryMax_ms: value(flags.notifRetryMax) ?? Math.max(retryMin_ms, 60_000),
    perReceiver: value(flags.notifPerReceiver),
    total: value(flags.notifTotal),
    streams: {
      listeners: value(flags.sseListeners),
      kept_ms: value(flags.sseKeep) * 1000,
      kept: value(flags.sseKeepMax),
      kept_bytes: value(flags.sseKeepMaxMb) * 2 ** 20,
    },
    accept: value(flags.notifAccept),
    destinations: {
      allow: value(flags.notifAllow),
      deny: value(flags.notifDeny),
    },
    initialLimit: value(flags.initialNotificationLimit),
    subscriptionGrace_days: value(flags.subscriptionGrace),
  })
}

/** Whether a flag has no effect without another one: an operator who gives `-key` alone may believe that HTTPS is on. */
function lacksOther(flag: Flag, settings: Settings): boolean {
  if (flag === flags.key || flag === flags.cert) return !reading(settings).on(flags.https)
  return flag === flags.adminIp && !settings.has(flags.adminPort)
}

/** Node's timers take at most 2³¹ - 1 ms and fire at once beyond it; a limit of 24 days is as good as a longer one. */
const longestTimer_s = 2_147_483

/** The values of a table of flags, by their keys; those that print something have none. */
type OptionsOf<Flags> = {
  readonly [Key in keyof Flags as Flags[Key] extends Printing ? never : Key]: Flags[Key] extends ValueFlag<infer Value>
    ? Value
    : boolean
}

function optionsOf<Flags extends Readonly<Record<string, Flag>>>(table: Flags, settings: Settings): OptionsOf<Flags> {
  const { value, on } = reading(settings)
  const options = Object.entries(table).flatMap(([key, flag]) =>
    flag.kind === 'value' ? [[key, value(flag)]] : flag.kind === 'switch' ? [[key, on(flag)]] : [],
  )
  return Object.fromEntries(options)
}

/** Reads single settings, which were validated before. */
export function reading(settings: Settings) {
  return {
    value: <Value>(flag: ValueFlag<Value>): Value => {
      const given = settings.get(flag)
      if (given === undefined) return flag.default
      const value = flag.takes.parse(given.text)
      if (!value.ok) throw new Error(`${given.source} was not checked`)
      return value.value
    },
    on: (flag: Switch): boolean => settings.get(flag)?.text === 'true',
  }
}

/** The text of the flag among several that was set last. */
function latest(settings: Settings, ...meant: readonly Flag[]): string | undefined {
  return [...settings.values()].findLast(({ flag }) => meant.includes(flag))?.text
}

/** `-silent` means `-logLevel ERROR`: the later of the two counts. */
function silenced(settings: Settings): boolean {
  const relevant = [...settings.values()].filter(({ flag, text }) => flag !== flags.silent || text === 'true')
  return relevant.findLast(({ flag }) => flag === flags.silent || flag === flags.logLevel)?.flag === flags.silent
}

function namesOf(settings: Settings, isMeant: (flag: Flag) => boolean): readonly string[] {
  const given = [...settings.values()].filter(({ flag }) => isMeant(flag))
  return given.map(({ source }) => source.replaceAll("'", ''))
}

function frozen<const Value extends object>(value: Value): Value {
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null && !Object.isFrozen(member)) frozen(member)
  }
  return Object.freeze(value)
}
