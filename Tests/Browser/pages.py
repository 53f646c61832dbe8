"""How the pages look and read: accessibility, narrow screens, languages; and a picture of each."""
import functools
import json
import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error
from gallery import inspect
from keyboard import ByKeyboard, unreached
from layout import DESKTOP, NARROW, PHONE, lost, overflow, size
from reading import misread
from registry import test
from stack import ROOT, SCOPE_TEXTS
from visitor import Visitor

SCREENSHOTS = ROOT / ".local/screenshots"
CATALOGUES = ROOT / "Sources/Texts/Languages"
LANGUAGES = tuple(sorted(path.stem for path in CATALOGUES.glob("*.json")))
# WCAG 2.2 AA, and what axe's authors advise.
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
class VisitorByKeyboard(ByKeyboard, Visitor):
    pass


def visitor(browser, stack, language=None, **options):
    visitor = Visitor(browser, stack, **options)
    visitor.language = language
    return visitor


def picture(page, name, variant):
    folder = SCREENSHOTS / variant
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    try:
        page.screenshot(path=path, full_page=True)
    except Error as error:
        # Chromium fails at it now and then, where the machine is busy.
        if "Unable to capture screenshot" not in str(error):
            raise
        page.screenshot(path=path, full_page=True)


# The texts of a page: of each box, and of what is read out or shown in its place. A language is named in itself.
TEXTS = """() => {
    const texts = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        let box = node.parentElement;
        if (!node.textContent.trim() || box.closest('script, style, option, select')) continue;
        while (getComputedStyle(box).display === 'inline') box = box.parentElement;
        texts.add(box.innerText);
    }
    for (const element of document.querySelectorAll('[aria-label], [placeholder], [alt], [title]'))
        for (const name of ['aria-label', 'placeholder', 'alt', 'title']) texts.add(element.getAttribute(name) ?? '');
    return [...texts].flatMap(text => text.split('\\n')).map(text => text.trim()).filter(text => text);
}"""
# Whom and what the walk has made, and what is no word: none of it is of a language.
NAMES = r"Pixel|iPad|Chrome|Linux|Apple|Google|Lamp & Co|Lamp Accounts|Acme Home|Kim Lee|[\w.•*+-]+@[\w.•*-]+|[\da-f-]{36}"
DATA = re.compile(rf"({NAMES}|[\W\d_]+)+")
DATE = r"[\w.]+ [\w.]+,? [\w.]+(?: \w+ \d{4})?|\d{4}年\d+月\d+日|\d{4}년 \d+월 \d+일"


@functools.cache
def catalogue(language):
    """The texts of a language's file; their gaps are `{{name}}`."""
    sections = json.loads((CATALOGUES / f"{language}.json").read_text())
    texts = [text for name in ("pages", "errors", "failures") for text in sections[name].values()]
    return texts + re.findall(rf"^  {language}: (.*)$", SCOPE_TEXTS, re.M)


@functools.cache
def sentences(language):
    """What a page may say in a language. Its title has a sentence in a gap, and dates are in others' gaps alone."""
    def pattern(text):
        parts = re.split(r"\{\{(\w+)\}\}", text)
        parts[::2] = map(re.escape, parts[::2])
        parts[1::2] = (f"(?:{DATE if name == 'date' else NAMES})" for name in parts[1::2])
        return "".join(parts)

    return re.compile("|".join(
        pattern(text) for text in catalogue(language) if not re.search(r"\{\{(heading|month)\}\}", text)))


def foreign_texts(page, language):
    """The texts of a page that are not of this language, or are an English sentence too."""
    def is_own(text):
        return sentences(language).fullmatch(text) and (
            language == "en" or " " not in text or not sentences("en").fullmatch(text))

    heading = page.locator("main h1").inner_text()
    titles = [text.replace("{{heading}}", heading).replace("{{service}}", "Lamp Accounts")
              for text in catalogue(language) if "{{heading}}" in text]
    texts = page.evaluate(TEXTS) + ([] if page.title() in titles else [page.title()])
    return [text for text in texts if not is_own(text) and not DATA.fullmatch(text)]


@test(scheme=["light", "dark"])
def accessible(browser, stack, scheme):
    """axe finds nothing on any page, and no page scrolls sideways."""
    person = visitor(browser, stack, color_scheme=scheme)

    def faults(name):
        page = person.page
        for variant, dimensions in (scheme, DESKTOP), (f"{scheme}-phone", PHONE), (f"{scheme}-narrow", NARROW):
            size(page, dimensions)
            picture(page, name, variant)
            for violation in Axe().run(page, options=RULES).response["violations"]:
                nodes = [node["html"][:120] for node in violation["nodes"]]
                yield f"{variant}: {violation['id']}: {violation['help']}: {nodes}"
        yield from (f"wider than {NARROW[0]} px: {element}" for element in overflow(page))
        size(page, DESKTOP)

    inspect(person, f"axe-{scheme}", faults)
    assert person.complaints == [], person.complaints


@test(language=LANGUAGES)
def language(browser, stack, language):
    """Each text of each page is one of the language that was asked for, and the page names it. It fits a narrow screen, with
    large text too; it is read out as it is seen, and each control by a name of its own."""
    person = visitor(browser, stack, language, locale=language)

    def faults(name):
        page = person.page
        if page.get_attribute("html", "lang") != language:
            yield f"in {page.get_attribute('html', 'lang')}"
        if page.locator("main h1").count() != 1 or not page.title():
            yield "no heading or title"
        yield from (f"not a text of {language}: {text}" for text in foreign_texts(page, language))
        yield from (f"wider than {NARROW[0]} px: {element}" for element in overflow(page))
        yield from lost(page)
        size(page, PHONE)
        picture(page, name, language)
        size(page, DESKTOP)
        yield from misread(page, is_rtl=page.get_attribute("html", "dir") == "rtl")

    inspect(person, f"words-{language.lower()}", faults)


@test
def keyboard_alone(browser, stack):
    """Every act of the pages is done by Tab, Enter, Space and letters; each control of each page is reached, and shows that
    it is."""
    person = VisitorByKeyboard(browser, stack)
    person.language = None
    inspect(person, "keys", lambda name: unreached(person.page))


# What is pressed, followed or filled in; of a box to tick its label is part. A link within a sentence is as high as the line
# (WCAG 2.5.8 leaves it out); one that leads past the menu is there for the keyboard alone.
TARGETS = """least => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
    .filter(element => element.checkVisibility({visibilityProperty: true}) && !element.closest('.skip'))
    .filter(element => element.tagName !== 'A' || getComputedStyle(element).display !== 'inline'
        || ![...element.parentNode.childNodes].some(
            other => other !== element && other.nodeType === Node.TEXT_NODE && other.textContent.trim().length > 1))
    .map(element => {
        const isTicked = element.matches('input[type=checkbox], input[type=radio]');
        const box = (isTicked ? element.labels[0] : element).getBoundingClientRect();
        return [box.width, box.height, element.outerHTML.slice(0, 120)];
    })
    .filter(([width, height]) => width < least - 0.01 || height < least - 0.01)"""
# CSS pixels: what a finger hits (WCAG 2.5.5).
LEAST = 44


@test
def targets_for_fingers(browser, stack):
    """Whatever is pressed, followed or filled in is 44 pixels wide and high, on a phone and on a desktop."""
    person = visitor(browser, stack)

    def faults(name):
        for dimensions in NARROW, PHONE, DESKTOP:
            size(person.page, dimensions)
            for width, height, html in person.page.evaluate(TARGETS, LEAST):
                yield f"{width:.1f} by {height:.1f} px: {html}"

    inspect(person, "fingers", faults)
