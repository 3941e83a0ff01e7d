/** As many characters are shown in one line. */
const usual_characters = 120

/**
 * What a client has stored, as text and nothing else: cut where it is long, and apart from what stands around it, whichever
 * way it is written.
 */
export function StoredText({ text, most = usual_characters }: { readonly text: string; readonly most?: number }) {
  const isLong = text.length > most
  return (
    <bdi class="stored" title={isLong ? `${text.slice(0, 1000)} (${text.length} characters)` : undefined}>
      {isLong ? `${text.slice(0, most)}…` : text}
    </bdi>
  )
}
