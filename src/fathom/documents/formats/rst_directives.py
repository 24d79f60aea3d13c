"""Directives of reStructuredText that docutils lacks, such as those of Sphinx."""

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.parsers.rst.directives.body import CodeBlock
from docutils.parsers.rst.languages import en
from typing_extensions import override

_NAME = re.compile(r"\.\.[ \t]+(\w[\w.+:-]*)::(?=\s|\Z)")
_LISTINGS = frozenset({
    "code", "code-block", "sourcecode", "testcode", "testoutput", "testsetup", "prompt", "ipython",
    "doctest", "productionlist", "graphviz", "mermaid",
})  # fmt: skip
_SILENT = frozenset({
    "toctree", "index", "highlight", "default-domain", "currentmodule", "tabularcolumns",
    "literalinclude",
})  # fmt: skip
"""The directives that print nothing."""
_CONDITIONS = frozenset({"only", "ifconfig", "rst-class"})
"""The directives whose argument is not printed, but whose content is."""
_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}


class _AnyOption(dict[str, Any]):
    """The options of a directive; an unknown option is accepted with any value."""

    def __missing__(self, _name: str) -> Any:  # noqa: ANN401 - docutils has no types
        return directives.unchanged


class _Listing(CodeBlock):  # type: ignore[misc]  # docutils has no types
    """A directive for a listing that accepts the options of any program."""

    option_spec: ClassVar[dict[str, Any]] = _AnyOption(CodeBlock.option_spec)


class _ForeignDirective(Directive):  # type: ignore[misc]
    """A directive of another program; it gives a paragraph of its argument, then its content."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = _AnyOption({"name": directives.unchanged})

    @override
    def run(self) -> list[nodes.Node]:
        # Without content, `class` names a style of what follows.
        if self.name in _SILENT or (self.name == "class" and not self.content):
            return []
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        label = _VERSIONS.get(self.name, "")
        argument = "" if self.name in _CONDITIONS else " ".join([label, *self.arguments]).strip()
        if not argument:
            return [body]
        words, _complaints = self.state.inline_text(argument, self.lineno)
        return [nodes.paragraph(argument, "", *words), body]


def register_directives(text: str) -> None:
    """Register the directives of a text that docutils lacks, and listings with any options.

    The registration holds for the whole process.
    """
    for name in {match[1].lower() for match in _NAME.finditer(text)}:
        if name in _LISTINGS:
            directives.register_directive(name, _Listing)
        elif name == "class" or name not in en.directives:
            directives.register_directive(name, _ForeignDirective)
