import Accounts
import HTTPServer
import SignIn

/// The cookies of the pages: the browser in which a flow goes on, and the person who is signed in to the pages.
///
/// Their names have the prefix `__Host-` (RFC 6265bis §4.1.3.2), so that no other host of the domain can set them. Plain
/// http on loopback, where browsers refuse the prefix, goes without.
struct PageCookies: Sendable {
    /// Seconds.
    static let browserLifetime = Int(Lifetimes.longestWebFlowSeconds)

    let isSecure: Bool

    init(publicURL: String) { isSecure = publicURL.hasPrefix("https:") }

    private var prefix: String { isSecure ? "__Host-" : "" }
    var browserName: String { prefix + "csn_browser" }
    var sessionName: String { prefix + "csn_web" }

    func browser(of request: Request) -> BrowserSecret? {
        request.cookie(browserName).flatMap(BrowserSecret.init(presented:))
    }

    func session(of request: Request) -> WebSessionSecret? {
        request.cookie(sessionName).flatMap(WebSessionSecret.init(presented:))
    }

    func cookie(_ browser: BrowserSecret) -> ResponseCookie {
        ResponseCookie(name: browserName, value: browser.text, isSecure: isSecure, maximumAge: Self.browserLifetime)
    }

    /// For as long as the browser runs. The session itself ends sooner.
    func cookie(_ session: WebSessionSecret) -> ResponseCookie {
        ResponseCookie(name: sessionName, value: session.text, isSecure: isSecure)
    }

    /// Takes the session's secret from its cookie. The cookie itself stays, empty, until the browser ends: Chromium keeps pages
    /// in memory for who goes back, those with `no-store` too, and drops them when a cookie that is `HttpOnly` is set, but not
    /// when one is deleted.
    var endedSession: ResponseCookie { ResponseCookie(name: sessionName, value: "", isSecure: isSecure) }
}
