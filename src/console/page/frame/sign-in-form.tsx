import { useState } from 'preact/hooks'
import { giveToken, type SignIn } from '../session.js'

/** Asks for the token of the management: once for each tab, which alone keeps it. */
export function SignInForm({ state }: { readonly state: SignIn }) {
  const [given, setGiven] = useState('')
  return (
    <main class="sign-in" id="main">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          giveToken(given)
        }}
      >
        <h1>Rigel</h1>
        <p>This broker's management needs its token. It is kept in the memory of this tab, and nowhere else.</p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={given}
          aria-describedby={state === 'wrong' ? 'token-fault' : undefined}
          aria-invalid={state === 'wrong'}
          onInput={({ currentTarget }) => setGiven(currentTarget.value)}
        />
        {state === 'wrong' && (
          <p id="token-fault" class="failed" role="alert">
            The broker does not take this token.
          </p>
        )}
        <button type="submit" class="main">
          Open the console
        </button>
        <p class="quiet">
          It is the value of <code class="flag">-adminToken</code>, or stands in the file of{' '}
          <code class="flag">-adminTokenFile</code>.
        </p>
      </form>
    </main>
  )
}
