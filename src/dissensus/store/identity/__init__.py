"""Sessions, sign-in links, second factors, passkeys, API tokens, the security log and the outbox of mails."""
