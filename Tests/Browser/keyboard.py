"""A person without a mouse: what they reach by Tab, and what they do there by Enter, Space and letters."""

import contextlib

CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary"
# The control that has the focus, by its number on the page, and whether the page shows that it has.
FOCUS = """controls => {
    const element = document.activeElement, style = getComputedStyle(element), box = element.getBoundingClientRect();
    return {
        number: [...document.querySelectorAll(controls)].indexOf(element), html: element.outerHTML.slice(0, 160),
        isShown: box.left >= 0 && box.top >= 0
            && (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 || style.boxShadow !== 'none'),
    };
}"""


def tab(page):
    """The next stop; `None` between the last control and the first one."""
    page.keyboard.press("Tab")
    focus = page.evaluate(FOCUS, CONTROLS)
    if focus["number"] < 0:
        return None
    assert focus["isShown"], f"{page.url}: no visible focus: {focus['html']}"
    return focus["number"]


REFRESH = 'meta[http-equiv="refresh"]'


@contextlib.contextmanager
def staying(page):
    """The page, or a copy of it that does not lead to an app by itself: while Chromium asks whether it may open that, the page
    takes no key."""
    if not page.locator(REFRESH).count():
        yield page
        return
    html = page.evaluate(
        "refresh => { document.querySelector(refresh).remove(); return document.documentElement.outerHTML; }", REFRESH)
    url, copy = page.url, page.context.new_page()
    copy.route(lambda other: other == url, lambda route: route.fulfill(
        body=f"<!DOCTYPE html>{html}", content_type="text/html; charset=utf-8"))
    copy.goto(url)
    yield copy
    copy.close()


def unreached(page):
    """The controls of a page that the Tab key does not reach, those aside that are not shown."""
    with staying(page) as page:
        controls = page.locator(CONTROLS)
        wanted = {number for number, control in enumerate(controls.all())
                  if control.is_visible() and control.is_enabled()}
        reached = {tab(page) for _ in range(len(wanted) + 2)}
        return [controls.nth(number).evaluate("element => element.outerHTML") for number in wanted - reached]


class ByKeyboard:
    """A visitor who uses no mouse on our pages; the providers' are not ours."""

    def reach(self, locator):
        page = locator.page
        wanted = locator.element_handle()
        for _ in range(page.locator(CONTROLS).count() + 2):
            if wanted.evaluate("element => element === document.activeElement"):
                return
            tab(page)
        raise AssertionError(f"{page.url}: the Tab key does not reach {wanted.evaluate('element => element.outerHTML')}")

    def activate(self, locator):
        if locator.page.url.startswith(self.stack.sandbox):
            return super().activate(locator)
        self.reach(locator)
        is_link = locator.evaluate("element => element.tagName === 'A'")
        locator.page.keyboard.press("Enter" if is_link else "Space")

    def write(self, locator, text):
        self.reach(locator)
        locator.page.keyboard.press("Control+A")
        locator.page.keyboard.type(text)
