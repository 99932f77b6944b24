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
