import type { NewNotice, NoticeHead } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import { encodeChange } from './change-record.js'
import { decodeGroup, decodeNotice, encodeGroup, encodeMessage, encodeNotice } from './outbox-record.js'
import { encodeEntity } from './record.js'
import type { Section } from './sections.js'

/** A notice that is put into an outbox, in the texts that are stored. */
export type NoticeWrite =
  | { readonly kind: 'single'; readonly text: string }
  | {
      readonly kind: 'shared'
      readonly subscriptions: readonly SubscriptionId[]
      readonly common: Omit<NoticeHead, 'subscription'>
      /** The entity, or with messages the change, that all of them show. */
      readonly shown: string
      /** The texts of the messages by subscription, in the forms of NGSIv2. */
      readonly messages?: readonly string[] | undefined
    }

/** The texts of a notice. */
export function noticeWrite(notice: NewNotice): NoticeWrite {
  if (!('subscriptions' in notice)) return { kind: 'single', text: encodeNotice(notice) }
  if ('messages' in notice) {
    const { subscriptions, messages, shown, ...common } = notice
    return {
      kind: 'shared',
      subscriptions,
      common: { ...common, correlator: '' },
      shown: encodeChange(shown),
      messages: messages.map(encodeMessage),
    }
  }
  const { subscriptions, entity, ...common } = notice
  return { kind: 'shared', subscriptions, common, shown: encodeEntity(entity) }
}

/** Whose clocks a notice moves, and to when: not that of a version which is proposed only, which may never come into force. */
export function noted(write: NoticeWrite): { readonly ids: readonly SubscriptionId[]; readonly made: Milliseconds } {
  if (write.kind === 'shared') return { ids: write.subscriptions, made: write.common.made }
  const { subscription, made, provisional } = decodeNotice(write.text)
  return { ids: provisional?.by === 'proposed' ? [] : [subscription], made }
}

/** The sections of a record in the log that hold notices, in their order. */
export function noticeSections(notices: readonly NoticeWrite[]): readonly Section[] {
  return notices.flatMap((notice): readonly Section[] => {
    if (notice.kind === 'single') return [{ tag: 'notice', text: notice.text }]
    const { subscriptions, common, shown, messages } = notice
    // Where they lie in the outbox is decided when they are put there.
    const group = encodeGroup({ subscriptions, common, messages, shown: 0, shown_bytes: 0 })
    return [
      { tag: 'group', text: group },
      { tag: 'shown', text: shown },
    ]
  })
}

/** The notices that a record holds; throws when they cannot be read. */
export function noticesIn(sections: readonly Section[]): readonly NoticeWrite[] {
  return sections.flatMap(({ tag, text }, at): readonly NoticeWrite[] => {
    if (tag === 'notice') return [{ kind: 'single', text }]
    if (tag !== 'group') return []
    const { subscriptions, common, messages } = decodeGroup(0, text)
    const shown = sections[at + 1]
    if (shown?.tag !== 'shown') throw new Error('a group of notices shows nothing')
    const ids = subscriptions.flatMap((id) => id ?? [])
    return [{ kind: 'shared', subscriptions: ids, common, shown: shown.text, messages: messages?.map(encodeMessage) }]
  })
}
