/// The path and the query of a request target (RFC 9112 §3.2).
///
/// Nothing is decoded, joined or normalised: every path that we serve has one spelling, and any other, with `%2F`,
/// `//`, `..` or a final slash in it, is not found. So no proxy in front of us can see another path than we do.
struct RequestTarget: Equatable {
    let path: Substring
    /// The part after the first `?`; `nil` without one.
    let query: Substring?

    init(_ target: String) {
        let local = Self.withoutOrigin(target)
        let bytes = local.utf8
        if let mark = bytes.firstIndex(of: UInt8(ascii: "?")) {
            path = local[..<mark]
            query = local[bytes.index(after: mark)...]
        } else {
            path = local
            query = nil
        }
    }

    /// The absolute form, `http://host/path`, which a server has to accept (§3.2.2), is read as its path.
    private static func withoutOrigin(_ target: String) -> Substring {
        let bytes = target.utf8
        guard bytes.first != UInt8(ascii: "/") else { return target[...] }
        for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
            let authority = bytes.index(bytes.startIndex, offsetBy: scheme.utf8.count)
            let rest = target[authority...]
            let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            return rest[end...]
        }
        return target[...]
    }
}
