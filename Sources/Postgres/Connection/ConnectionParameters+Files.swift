import Primitives

extension ConnectionParameters {
    /// The parameters that name files (PostgreSQL manual, §34.1.2).
    static let fileKeywords = ["passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir"]

    /// Whether the value of such a parameter names a file. From version 16 on `system` is a word for `sslrootcert`; a key
    /// of an engine is `ENGINE:KEY`.
    static func isFile(_ value: String, of keyword: String) -> Bool {
        switch keyword {
        case _ where value.isEmpty: false
        case "sslrootcert": value != "system"
        case "sslkey": !value.contains(":")
        default: true
        }
    }

    /// The connection string, in either form, with another parameter. Of one that is there twice libpq takes the later.
    static func appending(_ keyword: String, _ value: String, to url: String) -> String {
        guard scheme(of: url) != nil else {
            return "\(url) \(keyword)='\(value.escaping("'\\", with: "\\"))'"
        }
        let separator = url.contains("?") ? (url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&") : "?"
        return "\(url)\(separator)\(keyword)=\(PercentEncoding.encode(value))"
    }
}
