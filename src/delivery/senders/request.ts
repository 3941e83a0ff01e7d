import { viaOf } from '../../hosts.js'
import type { NoticeMessage } from '../../model/subscription/message.js'
import { type NoticeHead, type NoticeNumber, serviceOf } from '../../model/subscription/notice.js'
import type { SentRequest } from '../../observe/measure/service-metrics.js'
import { versionFacts } from '../../version.js'
import type { OutboxNumber } from '../queue/outboxes.js'
import type { AttemptOutcome } from '../queue/outgoing.js'

/**
 * The headers of a notification that do not depend on the host, names and values in turn [subscriptions 4.1]; those of a custom
 * notification take the place of others [NGSIv2 subscriptions 6.1].
 */
export function headersOf(
  notice: NoticeHead,
  outbox: OutboxNumber,
  number: NoticeNumber,
  brokerId: string,
): readonly string[] {
  const { subscription, token, correlator, via, message } = notice
  const service = serviceOf(notice)
  const contentType = message?.contentType ?? 'application/json; charset=utf-8'
  const usual = [
    ...['User-Agent', `rigel/${versionFacts.version}`],
    ...['Accept', 'application/json'],
    ...(contentType === '' ? [] : ['Content-Type', contentType]),
    ...['Fiware-ServicePath', pathsText(notice)],
    ...(service === '' ? [] : ['Fiware-Service', service.toLowerCase()]),
    ...(token === '' ? [] : ['X-Auth-Token', token]),
  ]
  return [
    ...(message?.headers ? overridden(usual, message.headers) : usual),
    ...['Fiware-Correlator', correlator],
    ...(message?.format === undefined ? [] : ['Ngsiv2-AttrsFormat', message.format]),
    ...['Via', viaOf(via, brokerId)],
    ...['Rigel-Notification-Id', `${subscription}-${outbox}-${number}`],
  ]
}

/** An empty value removes what stands under its name. */
function overridden(usual: readonly string[], given: NonNullable<NoticeMessage['headers']>): readonly string[] {
  const names = new Set(given.map(([name]) => name))
  const kept = usual.filter((_, at) => !names.has((usual[at - (at % 2)] ?? '').toLowerCase()))
  return [...kept, ...given.flatMap(([name, value]) => (value === '' ? [] : [name, value]))]
}

/** The paths as the header says them: a single one when all are the root [subscriptions 4.1]. */
export function pathsText({ paths }: Pick<NoticeHead, 'paths'>): string {
  return paths.every((path) => path === '/') ? '/' : paths.join(',')
}

/** Bytes of the request line and of the headers that every request has, beside the URL and the length of the body. */
const fixed_bytes = Buffer.byteLength(
  ['POST  HTTP/1.1', 'host: ', 'connection: keep-alive', 'content-length: 12345678', '', ''].join('\r\n'),
)

/** The bytes of a notification as it is sent, head and body. */
export function messageSize(url: string, headers: readonly string[], body_bytes: number): number {
  const lines = headers.reduce((sum, text) => sum + text.length + 2, 0) // A colon and a space, or a line end.
  return fixed_bytes + url.length + lines + body_bytes
}

/** An attempt as the metrics of a tenant count it. */
export function sentRequest(
  notice: NoticeHead,
  body_bytes: number,
  { kind }: Pick<AttemptOutcome, 'kind'>,
): SentRequest {
  const service = serviceOf(notice)
  return {
    service: service === '' ? undefined : service,
    servicePath: pathsText(notice),
    request_bytes: body_bytes,
    response_bytes: 0,
    failed: kind !== 'accepted',
  }
}
