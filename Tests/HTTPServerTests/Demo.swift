import HTTPServer
import JSON
import Primitives

/// Routes that show what a request looks like to a handler.
enum Demo {
    enum Colour: String, CaseIterable {
        case red
        case green
    }

    /// An error that is not `ProblemConvertible`.
    struct Surprise: Error, CustomDebugStringConvertible {
        var debugDescription: String { "Surprise(\"line one\r\nline two\")" }
    }

    /// An error of another layer.
    struct Disabled: ProblemConvertible {
        var problem: Problem { Problem(.accountDisabled, reason: "by_admin") }
    }

    static let secret = "s3cret-canary"

    static let routes: [Route] =
        [
            Route(.get, "/v1/ping") { _ in .json { $0.member("pong", true) } },
            Route(.get, "/.well-known/keys") { _ in .json(caching: .shared(seconds: 300)) { $0.member("keys", 0) } },
            Route(.post, "/v1/echo", echo),
            Route(.post, "/v1/bytes") { request in
                let bytes = try request.body(as: "application/secevent+jwt")
                return .json(.accepted) { $0.member("count", bytes.count) }
            },
            Route(.post, "/v1/ignore") { _ in .empty() },
            Route(.get, "/v1/list", list),
            Route(.get, "/v1/things/{thingId}") { request in
                let id = try request.parameter("thingId", as: Self.thing)
                return .json { $0.member("thing", id) }
            },
            Route(.delete, "/v1/things/{thingId}") { _ in .empty() },
            Route(.post, "/v1/things/{kind}/parts/{partId}") { request in
                let kind = try request.parameter("kind", as: \.self)
                let part = try request.parameter("partId", as: \.self)
                return .json(.created) { $0.member("path", "\(kind)/\(part)") }
            },
            Route(.post, "/v1/things/revoke") { _ in .empty() },
            Route(.get, "/v1/who") { request in
                .json { who in
                    who.member("client", request.client.text)
                    who.member("network", request.client.network)
                    who.member("agent", request.header("User-Agent"))
                }
            },
            Route(.get, "/v1/large") { _ in
                Response(.ok, contentType: "text/plain", body: [UInt8](repeating: 0x61, count: 32 * 1024 * 1024))
            },
            Route(.get, "/v1/redirect") { request in
                var response = Response(.seeOther)
                response.headers.append(("Location", try request.query { $0.optionalString("to") } ?? "/"))
                response.headers.append(("X-Note", "one\r\nX-Injected: two\u{0}é"))
                return response
            },
            Route(.get, "/v1/surprise") { _ in throw Surprise() },
            Route(.get, "/v1/disabled") { _ in throw Disabled() },
        ]
        + Problem.Code.allCases.map { code in
            Route(.get, "/v1/problems/" + code.rawValue) { _ in throw Problem(code) }
        }

    private static func thing(_ text: String) -> String? { text.hasPrefix("t-") ? text : nil }

    @Sendable private static func echo(_ request: Request) async throws -> Response {
        let (name, nick, colour, quiet, device) = try request.fields { fields in
            let name = fields.string("name", maximumBytes: 8)
            let nick = fields.optionalString("nick")
            let colour = fields.choice("colour", of: Colour.self)
            let quiet = fields.optionalBool("quiet")
            let device = fields.optionalObject("device") { device in
                (device.string("name", maximumBytes: 8), device.optionalChoice("colour", of: Colour.self))
            }
            return (name, nick, colour, quiet, device)
        }
        return .json { echo in
            echo.member("name", name)
            echo.member("nick", nick)
            echo.member("colour", colour.rawValue)
            if let quiet { echo.member("quiet", quiet) }
            echo.member("device", device?.0)
        }
    }

    @Sendable private static func list(_ request: Request) async throws -> Response {
        let (limit, cursor, colour) = try request.query { query in
            (
                query.optionalInteger("limit", in: 1...200), query.optionalString("cursor", maximumBytes: 16),
                query.optionalChoice("colour", of: Colour.self)
            )
        }
        return .json { list in
            list.member("limit", limit ?? 0)
            list.member("cursor", cursor)
            list.member("colour", colour?.rawValue)
        }
    }
}
