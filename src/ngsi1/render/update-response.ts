import { LongText, Slices } from '../../slices.js'
import type { ElementResponse } from '../carry-out.js'
import { type Format, renderEcho, renderElement, renderStatus } from './elements.js'

/** The answer to an update: an item for each response [context 6.3]. */
export function renderUpdate(responses: readonly ElementResponse[], format: Format): string {
  let text = ''
  for (const response of responses) text += `${text === '' ? '' : ','}${renderResponse(response, format)}`
  return `{"contextResponses":[${text}]}`
}

/** The same, in slices: there are many, or they may be long. */
export async function renderLargeUpdate(responses: readonly ElementResponse[], format: Format): Promise<string> {
  const items = new LongText()
  const slices = new Slices()
  for (const response of responses) {
    items.push(renderResponse(response, format))
    if (slices.isOver) await slices.next()
  }
  return `{"contextResponses":[${items.joined}]}`
}

function renderResponse(response: ElementResponse, format: Format): string {
  const element = renderElement(response, renderEcho(response.attributes, format))
  return `{"contextElement":${element},"statusCode":${renderStatus(response.status)}}`
}
