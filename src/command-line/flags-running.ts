import { logLevels } from '../shared-memory/switches.js'
import { flagsOf, type Switch } from './flag.js'
import { address, integer, oneOf, oneOfAnyCase, textFlag, traceLevels } from './flag-values.js'

const statistics = flagsOf('Statistics')
const logging = flagsOf('Logging')
const administration = flagsOf('Administration')

/** For settings that are kept in 32-bit cells of shared memory. */
const highest32 = 2 ** 31 - 1
const silent: Switch = { kind: 'switch', group: 'Logging', meaning: 'the same as -logLevel ERROR' }
const noLevels: readonly number[] = []

/** The flags of statistics, logging and administration [management 9.3, 9.4]. */
export const runningFlags = {
  statSemWait: statistics.onOff('ORION_STAT_SEM_WAIT', 'measure how long requests wait'),
  mutexTimeStat: statistics.onOff('ORION_MUTEX_TIME_STAT', 'the same as -statSemWait'),
  statCounters: statistics.onOff('ORION_STAT_COUNTERS', 'show the counters in nested form as well'),
  statTiming: statistics.onOff('ORION_STAT_TIMING', 'measure the stages of requests'),
  statNotifQueue: statistics.onOff('ORION_STAT_NOTIF_QUEUE', 'show the queue of notifications'),
  disableMetrics: statistics.onOff('ORION_DISABLE_METRICS', 'gather no metrics by service'),

  t: logging.other(traceLevels, [noLevels, 'none'], 'ORION_TRACE', 'trace levels that are on, such as 19,21-25'),
  logLevel: logging.value(oneOfAnyCase(...logLevels), 'WARN', 'ORION_LOG_LEVEL', 'least important lines to log'),
  silent,
  verbose: logging.value(integer(0, 5), 0, 'RIGEL_VERBOSE', 'what is logged beyond the log level'),
  logFormat: logging.value(oneOf('json', 'pipe'), 'json', 'RIGEL_LOG_FORMAT', 'form of a line'),
  logForHumans: logging.onOff('ORION_LOG_FOR_HUMANS', 'short readable lines on stdout'),
  logDir: logging.optional(textFlag('directory'), 'ORION_LOG_DIR', 'log also to contextBroker.log in it'),
  logAppend: logging.onOff('ORION_LOG_APPEND', 'append to that file'),
  disableFileLog: logging.onOff('ORION_DISABLE_FILE_LOG', 'no file, whatever -logDir says'),
  logSummary: logging.value(
    integer(0, 2_678_400),
    0,
    'ORION_LOG_SUMMARY_PERIOD',
    'seconds between two summaries; 0: none',
  ),
  relogAlarms: logging.onOff('ORION_RELOG_ALARMS', 'log repeated alarms as well'),
  logLineMaxSize: logging.value(integer(100, highest32), 32768, 'ORION_LOG_LINE_MAX_SIZE', 'bytes of a line'),
  logInfoPayloadMaxSize: logging.value(
    integer(0, highest32),
    5120,
    'ORION_LOG_INFO_PAYLOAD_MAX_SIZE',
    'bytes of a payload that a line shows',
  ),
  logDeprecate: logging.onOff('ORION_LOG_DEPRECATE', 'warn of deprecated features that are used'),

  pidpath: administration.optional(textFlag('file'), 'ORION_PID_PATH', 'file for the number of the process'),
  fg: administration.onOff('ORION_FOREGROUND', 'accepted; the broker is always in the foreground'),
  shutdownTimeout: administration.value(
    integer(0),
    30,
    'RIGEL_SHUTDOWN_TIMEOUT',
    'seconds that an orderly end waits for requests',
  ),
  adminPort: administration.optional(integer(1, 65535), 'RIGEL_ADMIN_PORT', 'management on a port of its own'),
  adminIp: administration.value(address, '127.0.0.1', 'RIGEL_ADMIN_IP', 'address of that port'),
  adminToken: {
    ...administration.optional(textFlag('token'), 'RIGEL_ADMIN_TOKEN', 'token that management needs'),
    secret: true,
  },
  adminTokenFile: administration.optional(textFlag('file'), 'RIGEL_ADMIN_TOKEN_FILE', 'file with that token'),
  h: administration.prints('help', 'this help'),
  help: administration.prints('help', 'the same as -h'),
  U: administration.prints('help', 'the same as -h'),
  u: administration.prints('usage', 'names and values of the flags'),
  v: administration.prints('version', 'version'),
  version: administration.prints('version', 'the same as -v'),
} as const
