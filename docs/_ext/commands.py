"""Show the help of a command as the program prints it: ``{command} analyse``."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata
from typer import rich_utils
from typer.testing import CliRunner

from dissensus.cli.app import app as commands

WIDTH = 82


class Command(SphinxDirective):
    """A literal block with the help of the command named as argument; of the program itself without one."""

    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Run the command with --help."""
        rich_utils.MAX_WIDTH = WIDTH
        rich_utils.FORCE_TERMINAL = False
        result = CliRunner().invoke(commands, [*self.arguments, "--help"], prog_name="dissensus")
        if result.exit_code != 0:
            raise self.error(f"dissensus {' '.join(self.arguments)} --help failed: {result.output}")
        text = "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines())
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive."""
    app.add_directive("command", Command)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
