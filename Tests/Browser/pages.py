"""How the pages look and read: accessibility, narrow screens, languages; and a picture of each."""
import gallery
from axe_playwright_python.sync_playwright import Axe
from registry import test
from stack import ROOT
from visitor import Visitor

SCREENSHOTS = ROOT / ".local/screenshots"
LANGUAGES = "en", "de", "fr", "es", "ja", "zh-Hans"
# WCAG 2.2 AA, and what axe's authors advise.
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# CSS pixels: the narrowest phone that WCAG 1.4.10 names, a common one, a desktop.
NARROW, PHONE, DESKTOP = (320, 640), (390, 844), (1280, 800)


def visitor(browser, stack, language=None, **options):
    visitor = Visitor(browser, stack, **options)
    visitor.language = language
    return visitor


def size(page, dimensions):
    page.set_viewport_size({"width": dimensions[0], "height": dimensions[1]})


def picture(page, name, variant):
    folder = SCREENSHOTS / variant
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png", full_page=True)


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


@test(scheme=["light", "dark"])
def accessible(browser, stack, scheme):
    """axe finds nothing on any page, and no page scrolls sideways."""
    found, seen = [], []
    person = visitor(browser, stack, color_scheme=scheme)

    def see(name):
        page = person.page
        seen.append(name)
        for variant, dimensions in (scheme, DESKTOP), (f"{scheme}-phone", PHONE):
            size(page, dimensions)
            picture(page, name, variant)
            for violation in Axe().run(page, options=RULES).response["violations"]:
                nodes = [node["html"][:120] for node in violation["nodes"]]
                found.append(f"{name} ({variant}): {violation['id']}: {violation['help']}: {nodes}")
        found.extend(f"{name}: wider than {NARROW[0]} px: {element}" for element in overflow(page))
        size(page, DESKTOP)

    gallery.walk(person, f"axe-{scheme}", see)
    person.close()
    assert len(seen) >= 20, seen
    assert not found, "\n".join(found)
    assert person.complaints == [], person.complaints


@test(language=LANGUAGES)
def language(browser, stack, language):
    """Each page is in the language that was asked for, names it, and fits a narrow screen."""
    found = []
    person = visitor(browser, stack, language, locale=language)

    def see(name):
        page = person.page
        if page.get_attribute("html", "lang") != language:
            found.append(f"{name}: in {page.get_attribute('html', 'lang')}")
        if page.locator("main h1").count() != 1 or not page.title():
            found.append(f"{name}: no heading or title")
        found.extend(f"{name}: wider than {NARROW[0]} px: {element}" for element in overflow(page))
        size(page, PHONE)
        picture(page, name, language)
        size(page, DESKTOP)

    gallery.walk(person, f"words-{language.lower()}", see)
    person.close()
    assert not found, "\n".join(found)


@test
def larger_and_wider_text(browser, stack):
    """Text that is twice as large, and spaced as WCAG 1.4.12 allows, still fits."""
    person = visitor(browser, stack)
    page = person.open(stack.attempt())
    page.evaluate(
        """() => { for (const element of document.querySelectorAll('*')) {
            element.style.letterSpacing = '0.12em'; element.style.wordSpacing = '0.16em';
            element.style.lineHeight = '1.5'; } document.documentElement.style.fontSize = '200%'; }""")
    assert overflow(page) == [], overflow(page)
    person.close()


@test
def keyboard_alone(browser, stack):
    """Every control is reached by the Tab key, and shows that it is."""
    person = visitor(browser, stack)
    page = person.open(stack.attempt())
    wanted = page.locator("button, a[href], input:not([type=hidden])").count()
    page.locator("body").click(position={"x": 1, "y": 1})
    reached = set()
    for _ in range(2 * wanted):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            """() => { const element = document.activeElement; const style = getComputedStyle(element);
                return [element.outerHTML, element.tagName !== 'BODY'
                    && style.outlineStyle === 'none' && style.boxShadow === 'none']; }""")
        if focus[0].startswith("<body"):
            continue
        reached.add(focus[0])
        assert not focus[1], f"no visible focus: {focus[0][:120]}"
    assert len(reached) == wanted, (len(reached), wanted)
    person.close()
