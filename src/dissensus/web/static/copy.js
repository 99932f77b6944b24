// Copy buttons for links, keys and secrets, which are shown in fields that cannot be changed.

for (const field of document.querySelectorAll("input.long[readonly], textarea[readonly]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "secondary copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Without HTTPS, browsers offer no clipboard.
      if (!document.execCommand("copy")) return;
    }
    button.textContent = "Copied";
  });
  field.after(button);
}
