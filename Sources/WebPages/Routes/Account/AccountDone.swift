import Accounts
import HTTPServer
import Primitives

/// What was done, as the page says that follows: a form is answered by a redirect there, so that loading the page again, or
/// going back to it, does nothing. The parameter `done` is bound to a cookie: another link says nothing.
enum AccountDone {
    /// - Parameters:
    ///   - word: what was done.
    ///   - secret: the value of the cookie.
    static func link(to path: String, saying word: String, secret: String) throws -> String {
        let token = try FormToken.text(secret: secret, flow: flow(word), action: path)
        return "\(path)?done=\(PercentEncoding.encode("\(word).\(token)"))"
    }

    /// - Parameter secret: the value of the cookie that the browser has.
    static func word(of request: Request, at path: String, secret: String?) throws -> String? {
        guard let secret, let done = try request.queryValues().only("done"), let end = done.lastIndex(of: ".") else {
            return nil
        }
        let word = String(done[..<end])
        let token = String(done[done.index(after: end)...])
        return try FormToken.accepts(token, secret: secret, flow: flow(word), action: path) ? word : nil
    }

    private static func flow(_ word: String) -> String { "done \(word)" }
}

extension AccountPage.Notice {
    private static let ofClient = "client "

    /// As ``AccountDone`` has it; `nil` for what is said without.
    var word: String? {
        switch self {
        case .renamed: "renamed"
        case .emailChanged: "email"
        case .addressKept: "kept"
        case .passwordChanged: "password"
        case .deviceEnded: "device"
        case .othersEnded: "others"
        case .unlinkedProvider(let provider): provider.rawValue
        case .unlinkedClient(let name): Self.ofClient + name
        case .linkedProvider, .otherAccount: nil
        }
    }

    init?(word: String) {
        let fixed: [Self] =
            [.renamed, .emailChanged, .addressKept, .passwordChanged, .deviceEnded, .othersEnded]
            + Provider.allCases.map { .unlinkedProvider($0) }
        if let notice = fixed.first(where: { $0.word == word }) {
            self = notice
        } else if word.hasPrefix(Self.ofClient) {
            self = .unlinkedClient(String(word.dropFirst(Self.ofClient.count)))
        } else {
            return nil
        }
    }
}
