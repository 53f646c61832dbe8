"""Whether a page fits its screen, narrow as that may be, and large as its text may be."""

# CSS pixels: the narrowest phone that WCAG 1.4.10 names, a common one, a desktop.
NARROW, PHONE, DESKTOP = (320, 640), (390, 844), (1280, 800)


def size(page, dimensions):
    page.set_viewport_size({"width": dimensions[0], "height": dimensions[1]})


def overflow(page):
    """The elements that reach beyond a narrow screen."""
    size(page, NARROW)
    width = page.evaluate("document.documentElement.scrollWidth")
    if width <= NARROW[0]:
        return []
    return page.evaluate(
        """width => [...document.querySelectorAll('body *')]
            .filter(element => element.getBoundingClientRect().right > width + 0.5)
            .map(element => element.outerHTML.slice(0, 120))""", NARROW[0]) or [f"{width} px wide"]


# Twice as large, and spaced as WCAG 1.4.12 allows; and as it was.
ENLARGE = """isLarge => {
    for (const element of document.querySelectorAll('*')) {
        element.style.letterSpacing = isLarge ? '0.12em' : '';
        element.style.wordSpacing = isLarge ? '0.16em' : '';
        element.style.lineHeight = isLarge ? '1.5' : '';
    }
    document.documentElement.style.fontSize = isLarge ? '200%' : '';
}"""
# Text that its box cuts off, and controls that lie on each other.
LOST = """() => {
    const cut = [...document.querySelectorAll('body *')].filter(element => element.tagName !== 'INPUT'
        && element.checkVisibility() && getComputedStyle(element).overflow !== 'visible'
        && (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1));
    const controls = [...document.querySelectorAll('a[href], button, input:not([type=hidden])')]
        .filter(element => element.checkVisibility());
    const boxes = controls.map(element => element.getBoundingClientRect());
    const covered = controls.filter((_, one) => boxes.some((box, other) => other > one
        && Math.min(box.right, boxes[one].right) - Math.max(box.left, boxes[one].left) > 1
        && Math.min(box.bottom, boxes[one].bottom) - Math.max(box.top, boxes[one].top) > 1));
    return [...cut.map(element => `cut off: ${element.outerHTML.slice(0, 100)}`),
        ...covered.map(element => `covered: ${element.outerHTML.slice(0, 100)}`)];
}"""


def lost(page):
    """What of a page does not fit the narrowest phone, or is lost there, when its text is enlarged."""
    page.evaluate(ENLARGE, True)
    yield from (f"large text: wider than {NARROW[0]} px: {element}" for element in overflow(page))
    yield from (f"large text: {loss}" for loss in page.evaluate(LOST))
    page.evaluate(ENLARGE, False)
