"""HTML forms, read and filled as a browser without scripts does."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

Sent = dict[str, list[str]]


@dataclass
class Field:
    """A named field with its value and its choices."""

    kind: str
    values: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)


@dataclass
class Form:
    """A form with its fields and buttons."""

    action: str
    method: str = "get"
    fields: dict[str, Field] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def filled(self, **typed: str | Sequence[str]) -> Sent:
        """Return what is sent, with some fields typed in."""
        sent = {name: list(one.values) for name, one in self.fields.items() if one.values}
        return sent | {name: [value] if isinstance(value, str) else list(value) for name, value in typed.items()}

    def button(self, choice: int) -> Sent:
        """Return what one of the buttons sends."""
        named = [(name, value) for name, value in self.buttons if name]
        name, value = named[choice % len(named)] if named else ("", "")
        return {name: [value]} if name else {}

    def answered(self, given: Mapping[str, Sequence[str]], choice: int) -> Sent:
        """Return what is sent with the same choice everywhere, but for what is given and fits."""
        sent = self.filled()
        for name, one in self.fields.items():
            if one.kind in ("radio", "select") and one.options:
                sent[name] = [one.options[choice % len(one.options)]]
            elif one.kind == "checkbox":
                sent[name] = sorted({*one.required, one.options[choice % len(one.options)]})
            elif one.kind in ("text", "textarea") and not any(one.values):
                sent[name] = [f"Some words, {choice}."]
            fitting = [value for value in given.get(name, ()) if not one.options or value in one.options]
            sent |= {name: fitting[:1]} if fitting else {}
        return sent | self.button(choice)


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._open = self._chosen = self._unvalued = False
        self._named: tuple[str, str] | None = None
        self._text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(known.get("action", ""), known.get("method", "get")))
            self._open = True
        elif self._open:
            self._field(tag, known)

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = False
        elif tag == "option" and self._named is not None and self._text.strip() and self._unvalued:
            self._option(self._text.strip())
        elif tag in ("textarea", "select") and self._named is not None:
            if tag == "textarea":
                self._of(*self._named).values.append(self._text.removeprefix("\n"))
            self._named = None

    def _field(self, tag: str, known: Mapping[str, str]) -> None:
        name, value = known.get("name", ""), known.get("value", "")
        if tag == "button" and known.get("type", "submit") == "submit":
            self.found[-1].buttons.append((name, value))
        elif tag == "option" and self._named is not None and self._text.strip() and self._unvalued:
            self._option(self._text.strip())
        elif tag in ("textarea", "select") and name:
            self._named, self._text = (name, tag), ""
            self._of(name, tag)
        elif tag == "option" and self._named is not None:
            self._chosen, self._text, self._unvalued = "selected" in known, "", "value" not in known
            if not self._unvalued:
                self._option(value)
        elif tag == "input" and name:
            self._input(name, known.get("type", "text"), known.get("value", "on"), known)

    def _option(self, value: str) -> None:
        assert self._named is not None
        one = self._of(*self._named)
        one.options.append(value)
        if self._chosen or not one.values:
            one.values = [value]

    def _input(self, name: str, kind: str, value: str, known: Mapping[str, str]) -> None:
        one = self._of(name, kind)
        if kind in ("radio", "checkbox"):
            one.options.append(value)
            one.required += [value] if "required" in known else []
            if "checked" in known:
                one.values.append(value)
        elif kind != "file" and "value" in known:
            one.values.append(value)

    def _of(self, name: str, kind: str) -> Field:
        return self.found[-1].fields.setdefault(name, Field(kind))


def forms_of(page: str) -> list[Form]:
    """Return the forms of a page that are sent to the site, in order."""
    return [one for one in _Reader(page).found if one.action.startswith("/")]


def form_to(page: str, action: str) -> Form | None:
    """Return the first form of a page whose whole address matches a pattern, None where there is none."""
    return next((one for one in forms_of(page) if re.fullmatch(action, one.action.partition("?")[0])), None)
