import { flagsOf, named } from './flag.js'
import { destinationList, integer, type NotificationMode, notificationMode, oneOf } from './flag-values.js'

const delivery = flagsOf('Notifications and forwarding')
const limits = flagsOf('HTTP limits')
const persistent: NotificationMode = { kind: 'persistent' }

/** The flags of subscriptions, notifications and forwarded requests [management 9.3, subscriptions 5.5]. */
export const deliveryFlags = named({
  outReqMsgMaxSize: limits.value(
    integer(0),
    8_388_608,
    'bytes of a forwarded request, head included',
    'ORION_OUT_REQ_MSG_MAX_SIZE',
  ),
  httpTimeout: delivery.value(
    integer(-1, 1_800_000),
    -1,
    'ms of an attempt to notify and of a forwarded request; -1 and 0: 5000',
    'ORION_HTTP_TIMEOUT',
  ),
  notificationMode: delivery.other(
    notificationMode,
    [persistent, 'persistent'],
    'how connections to receivers are used; permanent is persistent',
    'ORION_NOTIF_MODE',
  ),
  simulatedNotification: delivery.onOff('count notifications instead of sending them', 'ORION_DROP_NOTIF'),
  mqttTimeout: delivery.value(
    integer(-1, 1_800_000),
    -1,
    'ms until an MQTT connection is open and a message acknowledged; -1 and 0: 5000',
    'ORION_MQTT_TIMEOUT',
  ),
  mqttMaxAge: delivery.value(
    integer(1),
    60,
    'minutes until an MQTT connection that is not used is closed',
    'ORION_MQTT_MAX_AGE',
  ),
  disableCustomNotifications: delivery.onOff(
    'httpCustom is sent as http, mqttCustom as mqtt',
    'ORION_DISABLE_CUSTOM_NOTIF',
  ),
  insecureNotif: delivery.onOff('accept certificates of unknown authorities', 'ORION_INSECURE_NOTIF'),
  cprForwardLimit: delivery.value(
    integer(0),
    1000,
    'most requests that are forwarded for one request',
    'ORION_CPR_FORWARD_LIMIT',
  ),
  forwardMax: delivery.value(
    integer(1, 1_000_000),
    1000,
    'requests of clients that wait for context providers at a time',
  ),
  forwardPerProvider: delivery.other<number | undefined>(
    integer(1, 1_000_000),
    [undefined, 'half of -forwardMax'],
    'of these, those that wait for one provider (protocol, host and port)',
  ),
  cprAnswerMaxSize: delivery.value(
    integer(1, 1_073_741_824),
    4_194_304,
    'bytes of the responses of providers per request, together',
  ),
  notifRetention: delivery.value(
    integer(1, 31_536_000),
    86400,
    'seconds until a notification that is not accepted is dropped',
  ),
  notifQueueMax: delivery.value(integer(1, 10_000_000), 100_000, 'most notifications that wait per subscription'),
  notifQueueMaxMb: delivery.value(
    integer(1, 1_048_576),
    4096,
    'most MB of notifications that wait in all; also 1024 notifications for each MB',
  ),
  notifWindow: delivery.value(
    integer(1, 65_536),
    32,
    'MiB of the notifications that wait which are held in memory, 512 for each; the others are read from disk as these leave. As many again may have been sent on event streams and be unconfirmed',
  ),
  notifMaxSize: delivery.other(
    integer(0),
    [undefined, 'that of -outReqMsgMaxSize'],
    'bytes of a notification, head included',
  ),
  notifRetryMin: delivery.value(integer(1, 3_600_000), 500, 'ms of the first pause after a failed attempt to notify'),
  notifRetryMax: delivery.other<number | undefined>(
    integer(1, 86_400_000),
    [undefined, '60000'],
    'ms of the longest pause after failed attempts; not less than -notifRetryMin',
  ),
  notifPerReceiver: delivery.value(integer(1, 1024), 8, 'most attempts to notify at a time per receiver'),
  notifTotal: delivery.value(integer(1, 65536), 256, 'most attempts to notify at a time in all'),
  notifMemory: delivery.value(
    integer(1, 1_000_000),
    64,
    'MiB of the notifications that are being sent, of one receiver a quarter',
  ),
  sseListeners: delivery.value(
    integer(1, 100_000),
    1000,
    'clients that listen to subscriptions, with an event stream each',
  ),
  sseKeep: delivery.value(integer(0, 86_400), 30, 's that a notification is kept after it was sent on an event stream'),
  sseKeepMax: delivery.value(integer(1, 1_000_000), 10_000, 'notifications that are so kept per event stream'),
  sseKeepMaxMb: delivery.value(integer(1, 65_536), 16, 'MiB that are so kept per event stream'),
  notifAccept: delivery.value(oneOf('2xx', 'any'), '2xx', 'statuses by which a receiver accepts a notification'),
  notifAllow: delivery.optional(destinationList, 'where notifications may go, and nowhere else'),
  notifDeny: delivery.optional(destinationList, 'where notifications may not go, whatever -notifAllow says'),
  initialNotificationLimit: delivery.value(
    integer(0, 1000),
    20,
    'entities in an initial notification; 0: none is sent',
  ),
  subscriptionsMax: delivery.value(
    integer(1, 10_000_000),
    100_000,
    'subscriptions, and availability subscriptions, of 1 KiB each on average',
  ),
  subscriptionPatternSteps: delivery.value(
    integer(1, 1_000_000_000),
    4_000_000,
    'steps, of about 10 ns, to match the longest id with all patterns of the subscriptions of a tenant',
  ),
  subscriptionsPerEntity: delivery.value(
    integer(1, 10_000_000),
    50_000,
    'subscriptions that may be about one entity: to its id, or of its tenant to patterns or all ids',
  ),
  registrationsMax: delivery.value(integer(1, 10_000_000), 100_000, 'registrations, of 1 KiB each on average'),
  subscriptionGrace: delivery.value(
    integer(0, 36500),
    30,
    'days for which expired subscriptions are kept; 0: for ever',
  ),
} as const)
