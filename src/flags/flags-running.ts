import { logLevels } from '../threads/shared-memory/switches.js'
import { flagsOf, named, type Switch } from './flag.js'
import { address, hostNames, integer, oneOf, oneOfAnyCase, textFlag, traceLevels } from './flag-values.js'

const statistics = flagsOf('Statistics')
const logging = flagsOf('Logging')
const administration = flagsOf('Administration')

/** The limit of settings in 32-bit cells of shared memory. */
const highest32 = 2 ** 31 - 1
const silent: Switch = { kind: 'switch', group: 'Logging', variable: undefined, meaning: 'the same as -logLevel ERROR' }
const noNames: readonly string[] = []
const noLevels: readonly number[] = []

/** The flags of statistics, logging and administration [management 9.3, 9.4]. */
export const runningFlags = named({
  statSemWait: statistics.onOff('measure how long requests wait', 'ORION_STAT_SEM_WAIT'),
  mutexTimeStat: statistics.onOff('the same as -statSemWait', 'ORION_MUTEX_TIME_STAT'),
  statCounters: statistics.onOff('show the counters in nested form as well', 'ORION_STAT_COUNTERS'),
  statTiming: statistics.onOff('measure the stages of requests', 'ORION_STAT_TIMING'),
  statNotifQueue: statistics.onOff('show the queue of notifications', 'ORION_STAT_NOTIF_QUEUE'),
  disableMetrics: statistics.onOff('gather no metrics by service', 'ORION_DISABLE_METRICS'),

  t: logging.other(traceLevels, [noLevels, 'none'], 'trace levels that are on, such as 19,21-25', 'ORION_TRACE'),
  logLevel: logging.value(oneOfAnyCase(...logLevels), 'WARN', 'least important lines to log', 'ORION_LOG_LEVEL'),
  silent,
  verbose: logging.value(integer(0, 5), 0, 'how much is logged beyond the log level'),
  logFormat: logging.value(oneOf('json', 'pipe'), 'json', 'form of a line'),
  logForHumans: logging.onOff('short readable lines on stdout', 'ORION_LOG_FOR_HUMANS'),
  accessLog: logging.value(
    oneOf('on', 'errors', 'off'),
    'on',
    'requests that have a line: all, at INFO; those with errors, at WARN; none',
  ),
  logDir: logging.optional(textFlag('directory'), 'log also to contextBroker.log in it', 'ORION_LOG_DIR'),
  logAppend: logging.onOff('append to that file', 'ORION_LOG_APPEND'),
  disableFileLog: logging.onOff('no file, whatever -logDir says', 'ORION_DISABLE_FILE_LOG'),
  logSummary_s: logging.value(
    integer(0, 2_678_400),
    0,
    'seconds between two summaries; 0: none',
    'ORION_LOG_SUMMARY_PERIOD',
  ),
  relogAlarms: logging.onOff('log repeated alarms as well', 'ORION_RELOG_ALARMS'),
  logLineMaxSize: logging.value(
    integer(100, highest32),
    32768,
    'longest line of the log, in bytes',
    'ORION_LOG_LINE_MAX_SIZE',
  ),
  logInfoPayloadMaxSize: logging.value(
    integer(0, highest32),
    5120,
    'bytes of a payload that a line shows',
    'ORION_LOG_INFO_PAYLOAD_MAX_SIZE',
  ),
  stepWarning_ms: logging.value(
    integer(0, highest32),
    250,
    'milliseconds for which a thread may work on one thing and do nothing else before a line warns of it; 0: never',
  ),
  logDeprecate: logging.onOff('warn of deprecated features that are used', 'ORION_LOG_DEPRECATE'),

  pidpath: administration.optional(textFlag('file'), 'file for the number of the process', 'ORION_PID_PATH'),
  fg: administration.onOff('accepted; the broker is always in the foreground', 'ORION_FOREGROUND'),
  shutdownTimeout_s: administration.value(integer(0), 30, 'seconds that an orderly end waits for requests'),
  threadSilence_s: administration.value(
    integer(0, 86_400),
    30,
    'seconds for which a thread may stand still before the process ends itself; 0: for ever',
  ),
  adminPort: administration.optional(integer(1, 65535), 'management on a port of its own'),
  adminIp: administration.value(address, '127.0.0.1', 'address of -adminPort'),
  adminHosts: administration.other(
    hostNames,
    [noNames, 'none'],
    'names under which browsers may reach management without a token',
  ),
  name: administration.optional(
    textFlag('name'),
    'name of this broker in its console, in place of that of the machine',
  ),
  noConsole: administration.onOff('no console for browsers at /console'),
  adminToken: {
    ...administration.optional(textFlag('token'), 'token that management needs'),
    secret: true,
  },
  adminTokenFile: administration.optional(textFlag('file'), 'file with that token'),
  adminOpen: administration.onOff('everybody may use the whole management interface without a token'),
  h: administration.prints('help', 'this help'),
  help: administration.prints('help', 'the same as -h'),
  U: administration.prints('help', 'the same as -h'),
  u: administration.prints('usage', 'names and values of the flags'),
  v: administration.prints('version', 'version'),
  version: administration.prints('version', 'the same as -v'),
} as const)
