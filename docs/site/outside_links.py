"""Links from pages to what is not on the site: README and changelog are pages of their own,
and a folder is only named.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
_PAGES = {"README.md": "/index.md", "CHANGELOG.md": "/reference/changelog.md"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the change of links."""
    app.connect("source-read", _within)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _within(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the links of a page."""
    docs = Path(app.srcdir)

    def changed(link: re.Match[str]) -> str:
        target = ((docs / page).parent / link[2]).resolve()
        if target.parent == docs.parent and target.name in _PAGES:
            return f"[{link[1]}]({_PAGES[target.name]})"
        return link[1] if target.is_dir() else link[0]

    source[0] = _LINK.sub(changed, source[0])
