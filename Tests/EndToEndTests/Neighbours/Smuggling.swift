/// Requests that two readers may see the ends of in different places, each with another request hidden behind the end that
/// one of them sees. The client asks for the connection to be closed, so whatever reads it, there is one request in each.
struct SmugglingForm: Sendable {
    let name: String
    private let write: @Sendable (_ outer: String, _ hidden: String) -> String

    /// - Parameter number: of the form, by which the log shows which of the two requests was read.
    func bytes(_ number: Int) -> String {
        write(
            "X-Request-Id: outer-\(number)",
            "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\nX-Request-Id: hidden-\(number)\r\n\r\n")
    }

    static let all = lengthsAndCodings + lengths + chunks + sections

    private static func post(_ fields: String, _ outer: String, _ body: String) -> String {
        """
        POST /v1/links/cancel HTTP/1.1\r\nHost: a\r\n\(outer)\r\nContent-Type: application/json\r
        Connection: close\r\n\(fields)\r\n\r\n\(body)
        """
    }

    private static func get(_ fields: String, _ outer: String) -> String {
        "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n\(outer)\r\nConnection: close\r\n\(fields)\r\n\r\n"
    }

    // MARK: Content-Length and Transfer-Encoding

    /// The body by its length ends behind the hidden request, as chunks before it.
    private static func coding(_ name: String, _ field: String, isFirst: Bool = false) -> SmugglingForm {
        SmugglingForm(name: "Content-Length and \(name)") { outer, hidden in
            let body = "0\r\n\r\n" + hidden
            let length = "Content-Length: \(body.utf8.count)"
            return post(isFirst ? "\(field)\r\n\(length)" : "\(length)\r\n\(field)", outer, body)
        }
    }

    private static let lengthsAndCodings =
        [
            coding("chunked", "Transfer-Encoding: chunked"),
            coding("chunked before it", "Transfer-Encoding: chunked", isFirst: true),
            coding("a space before the colon", "Transfer-Encoding : chunked"),
            coding("a tab before the coding", "Transfer-Encoding:\tchunked"),
            coding("a vertical tab before the coding", "Transfer-Encoding: \u{0B}chunked"),
            coding("a folded coding", "Transfer-Encoding:\r\n chunked"),
            coding("a field folded onto the one before", " Transfer-Encoding: chunked"),
            coding("xchunked", "Transfer-Encoding: xchunked"),
            coding("identity, chunked", "Transfer-Encoding: identity, chunked"),
            coding("cow, chunked", "Transfer-Encoding: cow, chunked"),
            coding("gzip, chunked", "Transfer-Encoding: gzip, chunked"),
            coding("two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
            coding("a quoted coding", #"Transfer-Encoding: "chunked""#),
            coding("a coding with a parameter", "Transfer-Encoding: chunked;q=1"),
            coding("capitals", "TRANSFER-ENCODING: CHUNKED"),
            coding("an underscore", "Transfer_Encoding: chunked"),
            coding("a coding behind bare LF", "X: y\nTransfer-Encoding: chunked"),
            coding("a coding behind bare CR", "X: y\rTransfer-Encoding: chunked"),
            coding("NUL behind the coding", "Transfer-Encoding: chunked\u{0}"),
        ] + [
            // The other way round: the length ends before the hidden request, the chunk behind it.
            SmugglingForm(name: "a chunk that is longer than the length") { outer, hidden in
                let size = String(hidden.utf8.count, radix: 16) + "\r\n"
                return post(
                    "Content-Length: \(size.utf8.count)\r\nTransfer-Encoding: chunked", outer,
                    "\(size)\(hidden)\r\n0\r\n\r\n")
            },
            SmugglingForm(name: "chunks in HTTP/1.0") { outer, hidden in
                """
                POST /v1/links/cancel HTTP/1.0\r\nHost: a\r\n\(outer)\r\nTransfer-Encoding: chunked\r
                Content-Length: \(hidden.utf8.count + 5)\r\n\r\n0\r\n\r\n\(hidden)
                """
            },
        ]

    // MARK: Content-Length alone

    private static func length(_ name: String, _ fields: @escaping @Sendable (Int) -> String) -> SmugglingForm {
        SmugglingForm(name: name) { outer, hidden in
            let body = "{}" + hidden
            return post(fields(body.utf8.count), outer, body)
        }
    }

    private static let lengths = [
        length("two lengths, the longer first") { "Content-Length: \($0)\r\nContent-Length: 2" },
        length("two lengths, the shorter first") { "Content-Length: 2\r\nContent-Length: \($0)" },
        length("a list of lengths") { "Content-Length: \($0), 2" },
        length("a list of equal lengths") { _ in "Content-Length: 2, 2" },
        length("a signed length") { "Content-Length: +\($0)" },
        length("a negative length") { "Content-Length: -\($0)" },
        length("a hexadecimal length") { "Content-Length: 0x\($0)" },
        length("a length in two words") { "Content-Length: 2 \($0)" },
        length("a length with a leading zero") { "Content-Length: 0\($0)" },
        SmugglingForm(name: "a body with GET") { outer, hidden in
            get("Content-Length: \(hidden.utf8.count)", outer) + hidden
        },
    ]

    // MARK: Chunks

    private static func chunk(_ name: String, _ body: String) -> SmugglingForm {
        SmugglingForm(name: name) { outer, hidden in post("Transfer-Encoding: chunked", outer, body + hidden) }
    }

    private static let chunks = [
        chunk("an extension with bare LF", "2;\nxx\r\n{}\r\n0\r\n\r\n"),
        chunk("an extension with CR LF in quotes", "2;a=\"\r\n\"\r\n{}\r\n0\r\n\r\n"),
        chunk("a size that ends with bare LF", "2\n{}\r\n0\r\n\r\n"),
        chunk("a size with a prefix", "0x2\r\n{}\r\n0\r\n\r\n"),
        chunk("a size beyond 64 bits", "10000000000000002\r\n{}\r\n0\r\n\r\n"),
        chunk("a chunk that ends with bare LF", "2\r\n{}\n0\r\n\r\n"),
        chunk("a last chunk with bare LF", "2\r\n{}\r\n0\n\n"),
        chunk("a length among the trailers", "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n"),
        chunk("a folded trailer", "2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n"),
        SmugglingForm(name: "an extension that hides the request") { outer, hidden in
            post("Transfer-Encoding: chunked", outer, "2;a=b\r\n{}\r\n0;c=\"\r\n\r\n\(hidden)\"\r\n\r\n")
        },
    ]

    // MARK: Header sections

    private static let sections = [
        SmugglingForm(name: "bare LF everywhere") { outer, hidden in
            get("X: a", outer).replacing("\r\n", with: "\n") + hidden
        },
        SmugglingForm(name: "a folded field") { outer, hidden in get("X: a\r\n b", outer) + hidden },
        SmugglingForm(name: "a field folded with a tab") { outer, hidden in get("X: a\r\n\tb", outer) + hidden },
        SmugglingForm(name: "bare CR in a field") { outer, hidden in get("X: a\rY: b", outer) + hidden },
        SmugglingForm(name: "NUL in a field") { outer, hidden in get("X: a\u{0}b", outer) + hidden },
        SmugglingForm(name: "bare CR in the target") { outer, hidden in
            get("X: a", outer).replacing("jwks.json HTTP", with: "jwks.json\rX HTTP") + hidden
        },
        SmugglingForm(name: "two hosts") { outer, hidden in get("Host: b", outer) + hidden },
        SmugglingForm(name: "an upgrade to HTTP/2") { outer, hidden in
            """
            GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n\(outer)\r\nConnection: close, upgrade, HTTP2-Settings\r
            Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n\(hidden)
            """
        },
        SmugglingForm(name: "a length that Connection names") { outer, hidden in
            let body = "{}" + hidden
            return post("Content-Length: \(body.utf8.count)\r\nConnection: Content-Length", outer, body)
        },
        SmugglingForm(name: "a body that is announced") { outer, hidden in
            post("Expect: 100-continue\r\nContent-Length: 2", outer, "{}") + hidden
        },
    ]
}
