"""Contact sheets of the hosted pages: every page of a language on one picture, at three widths, light and dark.

    contact_sheet.py PAGES SHEETS [THEME/LANGUAGE …]

PAGES is what the test `every page is written to a directory` leaves. Fails when a page is wider than its screen, or text is
cut off.
"""
import functools
import http.server
import pathlib
import sys
import threading

from playwright.sync_api import sync_playwright

WIDTHS = 320, 390, 1280
# On a sheet the pages are this wide, so that one can be read and many are seen.
THUMB = 260
CUT = """() => [...document.querySelectorAll('body *')]
    .filter(element => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'visible'
        && element.tagName !== 'INPUT')
    .map(element => element.outerHTML.slice(0, 100))"""


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def served(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def sheet(browser, base, names, width, scheme, target):
    """Pictures of the pages, put on one; and what is wrong with them."""
    found, pictures = [], target.with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=True)
    page = context.new_page()
    for name in names:
        # A page that opens an app leaves at once.
        page.route("com.example.lamp:**", lambda route: route.abort())
        page.goto(f"{base}/{name}.html", wait_until="load")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{target.stem} {name}: wider than {width} px")
        found += [f"{target.stem} {name}: cut off: {element}" for element in page.evaluate(CUT)]
        page.screenshot(path=pictures / f"{name}.png", full_page=True)
    figures = "".join(
        f'<figure><img src="{(pictures / name).absolute().as_uri()}.png"><figcaption>{name}</figcaption></figure>'
        for name in names)
    index = pictures / "index.html"
    index.write_text(
        f"<meta charset=utf-8><style>body{{margin:8px;font:12px sans-serif;columns:6;column-gap:8px;background:#999}}"
        f"figure{{margin:0 0 8px;break-inside:avoid}}img{{width:100%;display:block}}</style>{figures}")
    page.set_viewport_size({"width": 6 * THUMB, "height": 800})
    page.goto(index.absolute().as_uri())
    page.screenshot(path=target, full_page=True)
    context.close()
    return found


def main():
    pages, sheets = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    wanted = sys.argv[3:] or sorted(
        str(folder.relative_to(pages)) for folder in pages.glob("*/*") if folder.parent.name != "web")
    server = served(pages)
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for each in wanted:
            names = sorted(
                path.stem for path in (pages / each).glob("*.html") if not path.stem.startswith("open-app"))
            for width in WIDTHS:
                for scheme in "light", "dark":
                    target = sheets / f"{each.replace('/', '-')}-{width}-{scheme}.png"
                    found += sheet(
                        browser, f"http://127.0.0.1:{server.server_port}/{each}", names, width, scheme, target)
            print(each, flush=True)
        browser.close()
    if found:
        sys.exit("\n".join(sorted(set(found))))


main()
