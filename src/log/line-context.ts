import type { IncomingHttpHeaders } from 'node:http'
import type { LineContext } from './log.js'

/** On whose behalf a line is written, as far as the head of a request says it [management 10.3]. */
export function lineContextOf(correlator: string, headers: IncomingHttpHeaders): LineContext {
  return {
    corr: correlator,
    trans: 'N/A',
    from: header(headers['x-real-ip']) ?? header(headers['x-forwarded-for']) ?? 'N/A',
    srv: header(headers['fiware-service']) ?? '<none>',
    subsrv: header(headers['fiware-servicepath']) ?? '<none>',
  }
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}
