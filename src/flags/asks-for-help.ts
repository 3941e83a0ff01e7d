/** Whether the words behind a command ask for its help: an option takes one dash or two. */
export function asksForHelp(words: readonly string[]): boolean {
  return words.some((word) => /^--?(h|help)$/.test(word))
}
