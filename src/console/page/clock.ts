import { useEffect, useState } from 'preact/hooks'

const readers = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** The time in milliseconds since 1970; the component is drawn again every second. One timer serves all, while there are any. */
export function useClock(): number {
  const [now_ms, setNow] = useState(Date.now())
  useEffect(() => {
    const tick = () => setNow(Date.now())
    readers.add(tick)
    timer ??= setInterval(() => {
      for (const reader of readers) reader()
    }, 1000)
    return () => {
      readers.delete(tick)
      if (readers.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
  return now_ms
}
