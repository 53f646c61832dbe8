"""A person before a browser: what they see, and where they click."""
import re

PROVIDERS = "apple", "google"
CONTINUE = "button[name=action][value=continue]"
CODE_FORM = 'form[action^="/web/email-code"]'


class Visitor:
    """One browser with cookies of its own. Whatever a page's policy refuses is an error."""

    def __init__(self, browser, stack, script=True, **options):
        self.stack = stack
        self.context = browser.new_context(java_script_enabled=script, **{"locale": "en-GB", **options})
        self.script = script
        self.complaints = []
        self.page = self.tab()

    def close(self):
        self.context.close()

    def tab(self):
        page = self.context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: message.type == "error" and self.complain(message.text))
        page.on("pageerror", lambda error: self.complain(str(error)))
        page.left = []
        session = self.context.new_cdp_session(page)
        session.send("Page.enable")
        # What the browser hands to another program: it shows no page for it.
        session.on("Page.frameRequestedNavigation", lambda event: page.left.append(event["url"]))
        return page

    def complain(self, text):
        # An answer with an error status is reported on the console, and is none.
        if "Failed to load resource" not in text:
            self.complaints.append(text)

    def leave_tab(self):
        """Goes on in another tab. Over a page that opens an app Chromium asks whether it may, and takes no more clicks."""
        self.page.close()
        self.page = self.tab()

    # What they do

    def open(self, attempt, page=None, **more):
        page = page or self.page
        page.goto(attempt.url(**more))
        return page

    def account(self, page=None):
        page = page or self.page
        page.goto(f"{self.stack.service}/web/account")
        return page

    def activate(self, locator):
        locator.click()

    def write(self, locator, text):
        """Types into a field, in the place of what is there."""
        locator.fill(text)

    def click(self, selector, page=None):
        """Activates what leads to another page."""
        page = page or self.page
        with page.expect_navigation(wait_until="commit"):
            self.activate(page.locator(selector).first)
        return self.shown(page)

    def enter(self, selector, page=None):
        """Sends a form by the Enter key in one of its fields."""
        page = page or self.page
        with page.expect_navigation(wait_until="commit"):
            page.press(selector, "Enter")
        return self.shown(page)

    @staticmethod
    def shown(page):
        # Not its load event: a page that opens an app at once, which is no page, need not have one.
        page.wait_for_load_state("domcontentloaded")
        return page

    def press(self, provider, page=None):
        """Presses a provider's button; the provider's page is there then."""
        page = page or self.page
        self.activate(page.locator(f'form[action^="/web/start/{provider}"] button'))
        page.wait_for_url(f"{self.stack.sandbox}/{provider}/**")
        return page

    def consent(self, person, page=None):
        """Consents at the provider, and is back with us, or in the app."""
        page = self.click(f'button[name=person][value="{person}"]', page)
        # A first consent may have a page more than later ones.
        for _ in range(3):
            if not page.url.startswith(self.stack.sandbox) or not page.locator(CONTINUE).count():
                break
            self.click(CONTINUE, page)
        return self.arrive(page)

    def cancel_there(self, page=None):
        return self.arrive(self.click("button[name=action][value=cancel]", page))

    def arrive(self, page):
        """Waits until the provider has sent the browser back. Without script a person presses the button of Apple's form."""
        if not self.script and page.locator("form#answer").count():
            self.click("form#answer button", page)
        page.wait_for_url(re.compile(r"^http://127\.0\.0\.1:"))
        page.wait_for_load_state()
        return page

    def sign_in(self, person, provider, page=None):
        return self.consent(person, self.press(provider, page))

    def sign_up(self, person):
        """From the page of the account to it, as who has none."""
        page = self.account()
        self.sign_in(person, "google")
        self.click('form[action^="/web/link/create"] button')
        page.wait_for_selector('form[action^="/web/sign-out"]')
        return page

    def type_password(self, email, password, page=None):
        page = page or self.page
        self.write(page.locator("input[name=email]").first, email)
        self.write(page.locator("input[name=password]").first, password)
        return self.enter("input[name=password]", page)

    def ask_for_code(self, email, page=None):
        page = page or self.page
        if not page.locator(f"{CODE_FORM} input[name=email]").count():
            self.click('main button[name=to][value=email], main a[href*="/web/sign-in"]', page)
        self.write(page.locator(f"{CODE_FORM} input[name=email]"), email)
        return self.enter(f"{CODE_FORM} input[name=email]", page)

    def type_code(self, code, page=None):
        page = page or self.page
        self.write(page.locator("input[name=code]"), code)
        return self.enter("input[name=code]", page)
