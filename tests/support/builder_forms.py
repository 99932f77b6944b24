"""Fields of the builder as a browser sends them."""

from collections.abc import Iterable

from dissensus.campaign.builder.field import FormNode


def fill_form(nodes: Iterable[FormNode]) -> dict[str, str]:
    """Values of all fields as they are shown; long texts have the line ends of forms."""
    values: dict[str, str] = {}
    for node in nodes:
        name = node.name
        match node.kind:
            case "text" | "number" | "choice" | "group" | "cell":
                values[name] = node.value
            case "long" | "lines" | "toml":
                values[name] = _send(node.value)
            case "flag" if node.checked:
                values[name] = "on"
            case "wording":
                values |= {f"{name}.{language}": _send(text) for language, text in node.texts.items()}
            case "labels":
                values |= {f"{name}.in.{language}": _send(text) for language, text in node.texts.items()}
                values |= {} if node.checked else {f"{name}.answers": _send(node.value)}
            case "questionnaire":
                values[f"{name}.choice"] = node.value
            case "axes" | "cells":
                values[f"{name}.shown"] = "1"
        if node.kind in ("optional", "axis") and node.checked:
            values[f"{name}.on"] = "on"
        if node.kind == "group":
            values[f"{name}.answer"] = node.label
        if node.kind == "cell":
            values[f"{name}.groups"] = node.hint
        if node.kind == "rows":
            values[f"{name}.n"] = str(len(node.children))
        values |= fill_form(node.children)
    return values


def _send(text: str) -> str:
    return text.replace("\n", "\r\n")
