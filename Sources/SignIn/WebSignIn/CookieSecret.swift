package import Accounts

/// The secret of a cookie: 32 bytes that can't be guessed, base64url at the browser, SHA-256 in the database.
///
/// - Parameter Cookie: which one, so that one is never taken for another.
package struct CookieSecret<Cookie>: Sendable {
    /// The cookie's value.
    package let text: String
    package let hash: SecretHash
}

extension CookieSecret {
    /// A presented value; `nil` when it can't be one of ours.
    package init?(presented text: String) {
        guard let hash = OpaqueSecret.hash(ofPresented: text) else { return nil }
        self.init(text: text, hash: hash)
    }

    init(_ secret: OpaqueSecret) { self.init(text: secret.text, hash: secret.hash) }

    package static func fresh() throws(SignInFailure) -> CookieSecret { CookieSecret(try OpaqueSecret.fresh()) }
}

/// `csn_browser`: binds a flow to the browser that opened it.
package enum BrowserCookie {}

/// `csn_web`: a browser session.
package enum WebSessionCookie {}

package typealias BrowserSecret = CookieSecret<BrowserCookie>
package typealias WebSessionSecret = CookieSecret<WebSessionCookie>
