import Accounts
import HTTPServer
import OpenSSL
import Primitives

/// The hidden field `csrf` of a form: an HMAC over the flow, the action and the account for which the form decides, under a
/// secret of the browser's cookie. Only a page that we made for this browser has it; another site can neither read nor
/// compute it.
enum FormToken {
    /// - Parameters:
    ///   - secret: the value of the cookie to which the form belongs.
    ///   - flow: the id of the flow; empty where there is none.
    ///   - action: the path to which the form is posted.
    ///   - account: the one for which the form decides, as its page says. The token then begins with its id.
    static func text(
        secret: String, flow: String, action: String, account: AccountID? = nil
    ) throws(OpenSSLError) -> String {
        let covered = "web|\(flow)|\(action)" + (account.map { "|\($0)" } ?? "")
        let code = try HMACSHA256.authenticationCode(for: Array(covered.utf8), key: Array(secret.utf8))
        return (account.map { "\($0)." } ?? "") + Base64URL.encode(code.bytes)
    }

    /// Whether a form is one of our own, whichever account it decides for.
    static func accepts(
        _ presented: String?, secret: String, flow: String, action: String
    ) throws(OpenSSLError) -> Bool {
        guard let presented else { return false }
        return constantTimeEquals(
            presented, try text(secret: secret, flow: flow, action: action, account: account(of: presented)))
    }

    /// The account for which a form decides.
    ///
    /// - Parameter presented: accepted.
    static func account(of presented: String) -> AccountID? {
        presented.firstIndex(of: ".").flatMap { AccountID(String(presented[..<$0])) }
    }
}

extension Request {
    /// Whether none of another site's pages has sent it. Origin is no help: under `no-referrer` it is `null` on our own forms
    /// too (Fetch §3.1).
    var isOfOurSite: Bool { [nil, "same-origin"].contains(header("Sec-Fetch-Site")) }

    /// - Throws: 403 for a form that another site has made.
    func requireOurSite() throws(Problem) {
        guard isOfOurSite else { throw Problem(.forbidden, reason: "cross_site") }
    }

    /// Reads a form of one of our own pages.
    ///
    /// - Parameters:
    ///   - secret: the value of the cookie that the form belongs to.
    ///   - flow: the id of its flow; empty for none.
    /// - Throws: 403 for a form that another site has made, or that is of another browser, flow or action.
    func ownForm<Value>(
        secret: String?, flow: String, action: String, _ read: (inout Fields) throws -> Value
    ) throws -> Value {
        try requireOurSite()
        guard !body.isEmpty else { throw Problem(.forbidden, reason: "csrf") }
        return try form { fields in
            let token = fields.optionalString("csrf")
            guard let secret, try FormToken.accepts(token, secret: secret, flow: flow, action: action) else {
                throw Problem(.forbidden, reason: "csrf")
            }
            return try read(&fields)
        }
    }
}
