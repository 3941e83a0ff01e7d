import type { ElementResponse } from './carry-out.js'
import { type Format, renderEcho, renderElement, renderStatus } from './render.js'

/** The answer to an update: an item for each response [context 6.3]. */
export function renderUpdate(responses: readonly ElementResponse[], format: Format): string {
  let text = ''
  for (const response of responses) {
    const element = renderElement(response, renderEcho(response.attributes, format))
    const status = renderStatus(response.status)
    text += `${text === '' ? '' : ','}{"contextElement":${element},"statusCode":${status}}`
  }
  return `{"contextResponses":[${text}]}`
}
