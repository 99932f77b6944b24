"""Lists of staff over several pages."""

import re
from html import unescape

import httpx


def walk_pages(browser: httpx.Client, path: str) -> list[httpx.Response]:
    """Load a page of a list, and those that the links to the next page lead to."""
    pages = [browser.get(path)]
    while link := re.search(r'href="([^"]+)" rel="next"', pages[-1].text):
        pages.append(browser.get(unescape(link[1])))
    return pages
