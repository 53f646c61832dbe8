import Accounts
import HTTPServer
import OpenSSL
import Primitives
import SignIn

/// What a form decides about, as its page says. By the time that it is posted another account may be signed in, in another tab,
/// or another ticket have come into the flow.
enum FormSubject: Hashable, Sendable {
    case account(AccountID)
    case session(SessionID)
    case ticket(LinkTicketName)

    /// Sets the id of a session apart from that of an account.
    private static let ofSession = "session:"

    var account: AccountID? { if case .account(let id) = self { id } else { nil } }

    var session: SessionID? { if case .session(let id) = self { id } else { nil } }

    var ticket: LinkTicketName? { if case .ticket(let name) = self { name } else { nil } }

    fileprivate var text: String {
        switch self {
        case .account(let id): "\(id)"
        case .session(let id): "\(Self.ofSession)\(id)"
        case .ticket(let name): name.text
        }
    }

    fileprivate init(_ text: String) {
        if let id = AccountID(text) {
            self = .account(id)
        } else if text.hasPrefix(Self.ofSession), let id = SessionID(String(text.dropFirst(Self.ofSession.count))) {
            self = .session(id)
        } else {
            self = .ticket(LinkTicketName(presented: text))
        }
    }
}

/// The hidden field `csrf` of a form: an HMAC over the flow, the action and the subject of the form, under a secret of the
/// browser's cookie. Only a page that we made for this browser has it; another site can neither read nor compute it.
enum FormToken {
    /// - Parameters:
    ///   - secret: the value of the cookie to which the form belongs.
    ///   - flow: the id of the flow; empty where there is none.
    ///   - action: the path to which the form is posted.
    ///   - subject: the token then begins with it.
    static func text(
        secret: String, flow: String, action: String, about subject: FormSubject? = nil
    ) throws(OpenSSLError) -> String {
        let covered = "web|\(flow)|\(action)" + (subject.map { "|\($0.text)" } ?? "")
        let code = try HMACSHA256.authenticationCode(for: Array(covered.utf8), key: Array(secret.utf8))
        return (subject.map { "\($0.text)." } ?? "") + Base64URL.encode(code.bytes)
    }

    /// Whether a form is one of our own, whatever it is about.
    static func accepts(
        _ presented: String?, secret: String, flow: String, action: String
    ) throws(OpenSSLError) -> Bool {
        guard let presented else { return false }
        return constantTimeEquals(
            presented, try text(secret: secret, flow: flow, action: action, about: subject(of: presented)))
    }

    /// - Parameter presented: accepted.
    static func subject(of presented: String) -> FormSubject? {
        presented.firstIndex(of: ".").map { FormSubject(String(presented[..<$0])) }
    }
}

extension Fields {
    /// What a form of ours is about.
    mutating func subject() -> FormSubject? { optionalString("csrf").flatMap(FormToken.subject(of:)) }
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
