"""Render math to native MathML while the documentation is built, so that no page needs a script."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)
# The converter lets unknown commands and alignment marks through as text.
LEFTOVER = re.compile(r"\\[A-Za-z]+|&(?!#)")
# TeX sets a thin space after a named function, the converter none.
FUNCTION = re.compile(r"(<mi>(?:exp|ln|log)</mi>)(?!<mo stretchy|</)")


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write inline math."""
    self.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write displayed math with its number and a link to itself."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(mathml(node, "block") + "</div>\n")
    raise nodes.SkipNode


def mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    """Return the node's LaTeX as MathML, and warn of what could not be converted."""
    latex = " ".join(node.astext().split())
    try:
        markup = convert(latex, display=display)
    except Exception as error:  # the converter's errors share no root
        logger.warning("math: %s in %s", type(error).__name__, latex, location=node)
        return f"<code>{nodes.unescape(latex)}</code>"
    if left := LEFTOVER.search(markup):
        logger.warning("math: cannot convert %s in %s", left[0], latex, location=node)
    return FUNCTION.sub(r'\1<mspace width="0.167em"></mspace>', markup)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer under the name that `html_math_renderer` takes."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
