import TestSupport
import Testing

/// The owner of an account with a password, signed in on its page.
enum AccountHolder {
    static let url = WebWorld.publicURL + "/web/account"

    /// - Parameter name: of the address, and of no other account.
    /// - Returns: the page of the account, and the access token of another session, that of a device.
    static func signedIn(_ name: String) async throws -> (browser: Browser, page: Browser.Page, bearer: String) {
        let world = World.current
        let email = "\(name)@example.com"
        let made = try await world.register(email).expecting(201)
        let browser = world.browser()
        let page = try await browser.enter(email, on: try await browser.open(url)).expecting(200)
        return (browser, page, try made.bearer())
    }
}

extension Browser.Page {
    /// Whether a person chooses here how to sign in.
    var isChooser: Bool { html.forms.contains { $0.path == "/web/start/google" } }

    /// Where the button leads that is a link and goes on.
    var wayOn: String? { html.elements("a").first { $0.attributes["class"] == "button primary" }?.attributes["href"] }
}

extension Browser {
    func openAccount() async throws -> Page { try await open(AccountHolder.url) }

    /// The cookie of the pages' session; empty it is none.
    var session: Cookie? { cookie("__Host-csn_web", of: WebWorld.publicURL).flatMap { $0.value.isEmpty ? nil : $0 } }

    /// Signs in by a password.
    func enter(_ email: String, on chooser: Page) async throws -> Page {
        let (page, form) = try await World.current.screen("/web/password", from: chooser, self)
        return try await submit(form, on: page, typed: ["email": email, "password": World.password])
    }

    /// Sends a form as who clicks twice does: the browser drops the answer to the first, with its cookies.
    ///
    /// - Parameter send: sends it; given is whether redirects are followed.
    func clickTwice(_ send: (Bool) async throws -> Page) async throws -> Page {
        let before = cookies(of: WebWorld.publicURL)
        _ = try await send(false)
        set(before, of: WebWorld.publicURL)
        return try await send(true)
    }

    /// Follows the link to a page, which is on the page.
    func press(_ target: String, on page: Page) async throws -> Page {
        let link = try #require(page.html.links.first { $0.target == target }, "\(page.answer.body)")
        return try await click(link.target, on: page)
    }
}
