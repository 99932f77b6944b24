// Dialogs opened by links, and protection against double submission.

document.documentElement.classList.add("js");

export const show = (name) => {
  const dialog = document.getElementById(name);
  if (!dialog.open) dialog.showModal();
};

document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  const target = link && document.getElementById(link.hash.slice(1));
  if (target instanceof HTMLDialogElement) {
    event.preventDefault();
    show(target.id);
  } else if (link?.closest("dialog")) {
    event.preventDefault();
    link.closest("dialog").close();
  }
});

// A request for help is sent without leaving the page, whose other form may be half filled in.
addEventListener("submit", async (event) => {
  const form = event.target;
  if (!("received" in form.dataset)) return;
  event.preventDefault();
  if ("sent" in form.dataset) return;
  form.dataset.sent = "";
  if (!(await isAccepted(form))) return form.submit(); // its page says what is wrong
  delete form.dataset.sent;
  form.reset();
  form.closest("dialog").close();
  const notice = document.createElement("p");
  [notice.className, notice.role, notice.textContent] = ["notice", "status", form.dataset.received];
  document.getElementById("main").prepend(notice);
  notice.scrollIntoView({ block: "nearest" });
});

async function isAccepted(form) {
  try {
    const body = new URLSearchParams(new FormData(form));
    // The site answers an accepted form with a redirect.
    return (await fetch(form.action, { method: "POST", body, redirect: "manual" })).type === "opaqueredirect";
  } catch {
    return false;
  }
}

addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method === "dialog") return;
  if ("sent" in form.dataset) event.preventDefault();
  form.dataset.sent = "";
});

// Pages restored from the back/forward cache are outdated.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
