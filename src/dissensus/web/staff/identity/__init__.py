"""Sign-in, account, passkeys and second factors of staff."""
