import { flagsOf } from './flag.js'
import { address, integer, oneOf, textFlag } from './flag-values.js'

const network = flagsOf('Network')
const limits = flagsOf('HTTP limits')
const storage = flagsOf('Storage')
const api = flagsOf('API behaviour')

/** Node's timers wait no longer. */
const longestTimer_ms = 2 ** 31 - 1

/** The flags of what is served, where, from what and within which limits [management 9.3, 9.4]. */
export const servingFlags = {
  port: network.value(integer(1, 65535), 1026, 'ORION_PORT', 'port of the interface'),
  localIp: network.other(address, [undefined, 'all'], 'ORION_LOCALIP', 'address to listen on, IPv4 or IPv6'),
  ipv4: network.onOff('ORION_USEIPV4', 'listen on IPv4 only'),
  ipv6: network.onOff('ORION_USEIPV6', 'listen on IPv6 only'),
  https: network.onOff('ORION_HTTPS', 'HTTPS instead of HTTP; needs -key and -cert'),
  key: network.optional(textFlag('file'), 'ORION_HTTPS_KEYFILE', 'private key for HTTPS (PEM)'),
  cert: network.optional(textFlag('file'), 'ORION_HTTPS_CERTFILE', 'certificate for HTTPS (PEM)'),
  corsOrigin: network.optional(
    textFlag('origin'),
    'ORION_CORS_ALLOWED_ORIGIN',
    'origin allowed to browsers; __ALL: every',
  ),
  corsMaxAge: network.value(
    integer(-1, 86400),
    86400,
    'ORION_CORS_MAX_AGE',
    'seconds that browsers keep what is allowed',
  ),
  httpThreads: network.other(
    integer(1, 64),
    [undefined, 'half the processors, 1 to 8'],
    'RIGEL_HTTP_THREADS',
    'threads that accept and answer HTTP',
  ),

  reqTimeout: limits.value(integer(0), 0, 'ORION_REQ_TIMEOUT', 'seconds until an idle connection is closed; 0: never'),
  connectionMemory: limits.value(integer(1, 1024), 64, 'ORION_CONN_MEMORY', 'KiB of the head of a request'),
  maxConnections: limits.value(integer(1), 1020, 'ORION_MAX_CONN', 'open connections; then the longest idle one goes'),
  connectionRequests: limits.value(
    integer(1, 10_000),
    16,
    'RIGEL_CONNECTION_REQUESTS',
    'requests of one connection in progress; further ones wait',
  ),
  idleTimeout: limits.value(
    integer(0),
    300,
    'RIGEL_IDLE_TIMEOUT',
    'seconds until a connection without a request is closed; 0: never',
  ),
  bodyTimeout: limits.value(
    integer(0),
    60,
    'RIGEL_BODY_TIMEOUT',
    'seconds for the body of a request, and one more for each 4 KiB of it; 0: no limit',
  ),
  sendTimeout: limits.value(
    integer(0),
    60,
    'RIGEL_SEND_TIMEOUT',
    'seconds until a client that takes nothing of its answer is cut off; 0: never',
  ),
  requestMemory: limits.value(
    integer(1, 1_000_000),
    64,
    'RIGEL_REQUEST_MEMORY',
    'MiB of the heads and bodies of all requests that are not answered',
  ),
  answerMemory: limits.value(
    integer(1, 1_000_000),
    256,
    'RIGEL_ANSWER_MEMORY',
    'MiB of all large answers that have not been sent',
  ),
  reqPoolSize: limits.value(integer(0, 1024), 0, 'ORION_TRQ_POOL_SIZE', 'requests that work at a time; 0: 256'),
  reqMutexPolicy: limits.value(
    oneOf('all', 'read', 'write', 'none'),
    'all',
    'ORION_MUTEX_POLICY',
    'operations that this limit is for',
  ),
  reqMaxWait: limits.value(
    integer(0, 600_000),
    1000,
    'RIGEL_REQ_MAX_WAIT',
    'ms that a request waits for its turn at most, a hundredth of it in overload; 0: no limit',
  ),
  inReqPayloadMaxSize: limits.value(
    integer(0),
    1_048_576,
    'ORION_IN_REQ_PAYLOAD_MAX_SIZE',
    'bytes of the body of a request',
  ),

  dbPath: storage.value(
    textFlag('directory'),
    './rigel-data',
    'RIGEL_DB_PATH',
    'where the data lives; made if missing',
  ),
  partitions: storage.other(
    integer(1, 256),
    [undefined, 'half the processors, 1 to 8'],
    'RIGEL_PARTITIONS',
    'partitions of a new data directory; an existing one keeps its number',
  ),
  dbPoolSize: storage.value(integer(1, 10000), 10, 'ORION_MONGO_POOL_SIZE', 'read handles of a partition'),
  dbSizeMax: storage.value(integer(16, 16_777_216), 65536, 'RIGEL_DB_SIZE_MAX', 'MiB of a partition on disk'),
  dbFreeMin: storage.value(
    integer(0, 1_048_576),
    64,
    'RIGEL_DB_FREE_MIN',
    'MiB of the disk that are kept free: below that only removals are taken',
  ),
  dbCheckSize: storage.value(
    integer(0, 16_777_216),
    64,
    'RIGEL_DB_CHECK_SIZE',
    'MiB of data of which every page is checked at the start; of more, those that lead to others',
  ),
  writeConcern: storage.value(
    integer(0, 1),
    1,
    'ORION_MONGO_WRITE_CONCERN',
    'an update is answered when it is 1: on disk; 0: committed in memory, and a loss of power may cost all data',
  ),
  mailboxSize: storage.value(
    integer(1, 1_000_000),
    100_000,
    'RIGEL_MAILBOX_SIZE',
    'commands that wait for a partition',
  ),
  entityMaxSize: storage.other<number | undefined>(
    integer(1024, 67_108_864),
    [undefined, '1048576, or -inReqPayloadMaxSize where that is more'],
    'RIGEL_ENTITY_MAX_SIZE',
    'characters of an entity as it is stored, with those of other types of its id',
  ),
  entityCache: storage.value(
    integer(0, 65536),
    64,
    'RIGEL_ENTITY_CACHE',
    'MiB of records that each partition keeps in memory',
  ),
  readCache: storage.value(
    integer(0, 65536),
    64,
    'RIGEL_READ_CACHE',
    'MiB of entities that each HTTP thread keeps decoded for reads',
  ),
  pageMaxSize: storage.value(
    integer(1024, 1_073_741_824),
    33_554_432,
    'RIGEL_PAGE_MAX_SIZE',
    'bytes of the results of one read, as they are stored',
  ),
  queryThreads: storage.value(integer(1, 64), 1, 'RIGEL_QUERY_THREADS', 'threads for long queries, per HTTP thread'),
  queryQueueSize: storage.value(
    integer(1, 100_000),
    1000,
    'RIGEL_QUERY_QUEUE_SIZE',
    'queries that wait for such a thread, per HTTP thread',
  ),
  queryTimeout: storage.value(
    integer(1, longestTimer_ms),
    30_000,
    'RIGEL_QUERY_TIMEOUT',
    'ms of a long query, waiting included',
  ),

  multiservice: api.onOff('ORION_MULTI_SERVICE', 'keep the tenants of Fiware-Service apart'),
  strictNgsiv1Ids: api.onOff('ORION_CHECK_ID_V1', 'more checks of ids in NGSIv1'),
  ngsiv1Autocast: api.onOff('ORION_NGSIV1_AUTOCAST', 'NGSIv1 updates store numbers and booleans as such'),
} as const
