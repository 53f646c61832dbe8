import Primitives

/// What was done, as the page says that follows: a form is answered by a redirect there, so that loading the page again, or
/// going back to it, does nothing. The parameter `done` is bound to a cookie: another link says nothing.
enum DoneLink {
    /// - Parameters:
    ///   - word: what was done.
    ///   - secret: the value of the cookie.
    static func link(to path: String, saying word: String, secret: String) throws -> String {
        let token = try FormToken.text(secret: secret, flow: flow(word), action: path)
        return "\(path)?done=\(PercentEncoding.encode("\(word).\(token)"))"
    }

    /// - Parameters:
    ///   - done: the parameter.
    ///   - secret: the value of the cookie that the browser has.
    static func word(of done: String?, at path: String, secret: String) throws -> String? {
        guard let done, let end = done.lastIndex(of: ".") else { return nil }
        let word = String(done[..<end])
        let token = String(done[done.index(after: end)...])
        return try FormToken.accepts(token, secret: secret, flow: flow(word), action: path) ? word : nil
    }

    private static func flow(_ word: String) -> String { "done \(word)" }
}
