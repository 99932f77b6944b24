// Passkeys: show the dialog of the browser, and send its answer with the form.

const CREATE = "create";

class Refusal extends Error {}

const ask = async (form) => {
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.dataset.options, { method: "POST", headers: { accept: "application/json" }, body });
  if (response.redirected) {
    location.assign(response.url);
    return null;
  }
  const options = await response.json();
  if (!response.ok) throw new Refusal(options.error);
  return form.dataset.passkey === CREATE
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
};

const explain = (error) => {
  if (error instanceof Refusal) return error.message;
  if (error.name === "InvalidStateError") return "This device has a passkey of your account already.";
  if (error.name === "NotAllowedError") return "The browser used no passkey: its dialog was cancelled, or took too long.";
  return "The passkey could not be used. Try again.";
};

const send = async (form) => {
  const [button, fault] = [form.querySelector("button"), form.querySelector("[role=alert]")];
  button.disabled = true;
  fault.textContent = "";
  try {
    const credential = await ask(form);
    if (credential === null) return;
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (error) {
    fault.textContent = explain(error);
    button.disabled = false;
  }
};

if (window.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
  }
  for (const hint of document.querySelectorAll("[data-without-passkeys]")) hint.hidden = true;
}

// Pages restored from the back/forward cache have a disabled button.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
