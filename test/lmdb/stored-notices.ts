import type { NoticeNumber, StoredNotice } from '../../src/model/subscription/notice.js'
import type { OutboxDatabases } from '../../src/storage/store/outbox.js'
import { noticeAt, noticesAfter } from '../../src/storage/store/outbox-reader.js'

/** The notices after a number with their bodies, in order, at most `limit`. */
export function storedAfter(
  outbox: OutboxDatabases,
  after: NoticeNumber,
  limit: number,
): readonly { readonly number: NoticeNumber; readonly notice: StoredNotice }[] {
  return noticesAfter(outbox, after, limit).flatMap(({ number }) => {
    const notice = noticeAt(outbox, number)
    return notice === undefined ? [] : [{ number, notice }]
  })
}
