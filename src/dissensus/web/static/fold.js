// On a phone, tables begin folded; without this script they are open everywhere.
if (!matchMedia("(min-width: 40rem)").matches) {
  for (const table of document.querySelectorAll("details.fold")) table.open = false;
}
