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

    def fill(self, **typed: str | Sequence[str]) -> Sent:
        """Return the form data, with some fields typed in."""
        values = {name: list(one.values) for name, one in self.fields.items() if one.values}
        return values | {name: [value] if isinstance(value, str) else list(value) for name, value in typed.items()}

    def button(self, choice: int) -> Sent:
        """Return the form data of one button."""
        buttons = [(name, value) for name, value in self.buttons if name]
        name, value = buttons[choice % len(buttons)] if buttons else ("", "")
        return {name: [value]} if name else {}

    def fill_out(self, answers: Mapping[str, Sequence[str]], choice: int) -> Sent:
        """Return the form data with the same choice everywhere except where a given answer fits."""
        values = self.fill()
        for name, control in self.fields.items():
            if control.kind in ("radio", "select") and control.options:
                values[name] = [control.options[choice % len(control.options)]]
            elif control.kind == "checkbox":
                values[name] = sorted({*control.required, control.options[choice % len(control.options)]})
            elif control.kind in ("text", "textarea") and not any(control.values):
                values[name] = [f"Some words, {choice}."]
            fitting = [value for value in answers.get(name, ()) if not control.options or value in control.options]
            values |= {name: fitting[:1]} if fitting else {}
        return values | self.button(choice)


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._open = self._chosen = self._unvalued = False
        self._named: tuple[str, str] | None = None
        self._text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(attributes.get("action", ""), attributes.get("method", "get")))
            self._open = True
        elif self._open:
            self._field(tag, attributes)

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

    def _field(self, tag: str, attributes: Mapping[str, str]) -> None:
        name, value = attributes.get("name", ""), attributes.get("value", "")
        if tag == "button" and attributes.get("type", "submit") == "submit":
            self.forms[-1].buttons.append((name, value))
        elif tag == "option" and self._named is not None and self._text.strip() and self._unvalued:
            self._option(self._text.strip())
        elif tag in ("textarea", "select") and name:
            self._named, self._text = (name, tag), ""
            self._of(name, tag)
        elif tag == "option" and self._named is not None:
            self._chosen, self._text, self._unvalued = "selected" in attributes, "", "value" not in attributes
            if not self._unvalued:
                self._option(value)
        elif tag == "input" and name:
            self._input(name, attributes.get("type", "text"), attributes.get("value", "on"), attributes)

    def _option(self, value: str) -> None:
        assert self._named is not None
        control = self._of(*self._named)
        control.options.append(value)
        if self._chosen or not control.values:
            control.values = [value]

    def _input(self, name: str, kind: str, value: str, attributes: Mapping[str, str]) -> None:
        control = self._of(name, kind)
        if kind in ("radio", "checkbox"):
            control.options.append(value)
            control.required += [value] if "required" in attributes else []
            if "checked" in attributes:
                control.values.append(value)
        elif kind != "file" and "value" in attributes:
            control.values.append(value)

    def _of(self, name: str, kind: str) -> Field:
        return self.forms[-1].fields.setdefault(name, Field(kind))


def forms_of(page: str) -> list[Form]:
    """Return the forms of a page that are sent to the site, in order."""
    return [one for one in _Reader(page).forms if one.action.startswith("/")]


def form_to(page: str, action: str) -> Form | None:
    """Return the first form of a page whose whole address matches a pattern, None where there is none."""
    return next((one for one in forms_of(page) if re.fullmatch(action, one.action.partition("?")[0])), None)
