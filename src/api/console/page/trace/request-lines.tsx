import { useLayoutEffect, useRef } from 'preact/hooks'
import { CopyButton } from '../parts/json.js'
import { Heads, ScrollRegion } from '../parts/small-parts.js'
import type { LogLine } from './log-line.js'
import { WhatChip } from './log-line.js'

/** As many lines of one request are drawn; all of them are copied. */
const mostDrawn = 500

/** One request: all of its lines that have come, in their order, and those that still come. */
export function RequestLines({
  correlator,
  lines,
  isFiltered,
  close,
}: {
  readonly correlator: string
  readonly lines: readonly LogLine[]
  /** Whether lines may be missing that the filter of the page does not let pass. */
  readonly isFiltered: boolean
  readonly close: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  // The browser leads the focus in, keeps it there, and back to the line when it is closed.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const first_ms = Date.parse(lines[0]?.time ?? '')
  return (
    <dialog ref={dialog} class="broad" aria-labelledby="request-title" onClose={close}>
      <h2 id="request-title">
        Request <span class="stored">{correlator}</span>
      </h2>
      <p class="quiet">
        {lines.length} {lines.length === 1 ? 'line' : 'lines'}
        {lines.length > mostDrawn && `, the first ${mostDrawn} of which are shown`}.
        {isFiltered && ' What the filter of the page does not let pass is not among them.'}
      </p>
      <ScrollRegion label="Lines of the request">
        <table>
          <Heads names={{ after: 'number', what: '', message: '' }} />
          <tbody>
            {lines.slice(0, mostDrawn).map((line) => (
              <tr key={line.number}>
                <td class="number">
                  <time dateTime={line.time} title={line.time}>
                    {Date.parse(line.time) - first_ms} ms
                  </time>
                </td>
                <td>
                  <WhatChip line={line} />
                </td>
                <td class="message">{line.message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <div class="actions">
        <CopyButton text={() => lines.map((line) => `${line.text}\n`).join('')}>Copy</CopyButton>
        <button type="button" class="main" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  )
}
