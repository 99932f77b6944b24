"""Forms of pages, filled and sent as browsers without scripts do."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

Typed = str | list[str]
TEXTS = ("text", "hidden", "number")


@dataclass
class Form:
    """A form: its action, the current values of its fields, and its buttons."""

    action: str
    is_multipart: bool = False
    fields: dict[str, list[str]] = field(default_factory=dict)
    buttons: dict[str, tuple[str, str]] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._inside: tuple[str, dict[str, str]] | None = None
        self._text = ""
        self.feed(page.replace("\r\n", "\n"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(attributes["action"], attributes.get("enctype") == "multipart/form-data"))
        elif tag == "input":
            self._input(attributes)
        elif tag == "option" and attributes["value"] is not None:
            assert self._inside is not None
            name = self._inside[1]["name"]
            if "selected" in attributes or name not in self.forms[-1].fields:
                self.forms[-1].fields[name] = [attributes["value"]]
        elif tag in ("textarea", "button", "select"):
            self._inside, self._text = (tag, attributes), ""

    def _input(self, attributes: dict[str, str]) -> None:
        kind = attributes.get("type", "text")
        if "name" in attributes and (kind in TEXTS or "checked" in attributes):
            self.forms[-1].fields.setdefault(attributes["name"], []).append(attributes.get("value", "on"))

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self._inside is None or self._inside[0] != tag:
            return
        attributes, self._inside = self._inside[1], None
        if tag == "textarea" and "name" in attributes:
            # The first line break belongs to the tag; others are sent as CR LF.
            text = self._text.removeprefix("\n").replace("\n", "\r\n")
            self.forms[-1].fields.setdefault(attributes["name"], []).append(text)
        elif tag == "button":
            self.forms[-1].buttons[" ".join(self._text.split())] = (
                attributes.get("name", ""),
                attributes.get("value", ""),
            )


def forms(page: httpx.Response) -> list[Form]:
    """The forms of a page, in order."""
    return _Forms(page.text).forms


def press(
    browser: httpx.Client, page: httpx.Response, button: str, file: tuple[str, bytes] | None = None, **typed: Typed
) -> httpx.Response:
    """Send the form with this button, with typed values in place of the current ones."""
    form = next(one for one in forms(page) if button in one.buttons)
    changed = {name: [value] if isinstance(value, str) else value for name, value in typed.items()}
    name, value = form.buttons[button]
    data = {**form.fields, **changed, **({name: [value]} if name else {})}
    if not form.is_multipart:
        return browser.post(form.action, data=data)
    parts: list[tuple[str, tuple[str | None, str | bytes]]] = []
    for field_name, values in data.items():
        parts += [(field_name, (None, one)) for one in values]
    return browser.post(form.action, files=[*parts, ("items_file", file)] if file else parts)
