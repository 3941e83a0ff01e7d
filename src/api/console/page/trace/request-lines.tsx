import { useLayoutEffect, useRef } from 'preact/hooks'
import { CopyButton } from '../parts/json.js'
import { Heads, ScrollRegion } from '../parts/small-parts.js'
import type { LogLine } from './log-line.js'
import { WhatChip } from './log-line.js'

/** The number of lines of one request that are rendered; Copy takes all of them. */
const mostDrawn = 500

/** One request: all of its lines so far, in order, and those that follow. */
export function RequestLines({
  correlator,
  lines,
  isFiltered,
  close,
}: {
  readonly correlator: string
  readonly lines: readonly LogLine[]
  /** Whether the page's filter may have left out lines. */
  readonly isFiltered: boolean
  readonly close: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  // The browser moves the focus in, keeps it there, and returns it to the line when the dialog is closed.
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
