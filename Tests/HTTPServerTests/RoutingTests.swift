import HTTPServer
import JSON
import NIOPosix
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RoutingTests {
    @Test func `a route for the rest gets what no other route has there, by its own method alone`() async throws {
        func named(_ method: Route.Method, _ path: String) -> Route {
            Route(method, path) { _ in .json { $0.member("route", path) } }
        }
        let routes = [
            named(.get, "/a/{id}"), named(.post, "/a/b/c"), named(.get, "/a/b/*"), named(.get, "/*"),
        ]
        let matrix: [(method: String, target: String, route: String?, status: Int)] = [
            ("GET", "/", "/*", 200), ("HEAD", "/", nil, 200), ("GET", "/x/y", "/*", 200), ("GET", "//a", "/*", 200),
            ("GET", "/a/1", "/a/{id}", 200), ("GET", "/a/b", "/a/b/*", 200), ("GET", "/a", "/*", 200),
            ("GET", "/a/b/", "/a/b/*", 200),
            ("GET", "/a/b/d/e", "/a/b/*", 200), ("GET", "/a/1/2", "/*", 200), ("GET", "/a/b/c", nil, 405),
            ("POST", "/a/b/c", "/a/b/c", 200), ("POST", "/x", nil, 404), ("POST", "/a/b/d", nil, 404),
            ("OPTIONS", "/x", nil, 404),
        ]
        try await withServer(routes) { port in
            try await RawConnection.open(port) { client in
                for (method, target, route, status) in matrix {
                    try await client.send("\(method) \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
                    let answer = try await client.answer(toHead: method == "HEAD")
                    #expect(answer.status == status, "\(method) \(target)")
                    #expect(answer.json?["route"]?.string == route, "\(method) \(target)")
                }
            }
        }
    }

    /// Before and after it has waited for another thread, beside a number of requests that are held.
    @Test(arguments: [(true, 3, true), (true, 4, false), (false, 0, false)])
    func `a handler runs on an event loop where its listener has it do so and few requests are handled`(
        _ hasThemDoSo: Bool, _ heldCount: Int, _ isSo: Bool
    ) async throws {
        let held = Atomic(0)
        let mayEnd = Atomic(false)
        let wait = Route(.get, "/v1/wait") { _ in
            held.add(1, ordering: .relaxed)
            while !mayEnd.load(ordering: .relaxed) { try await pollingPause() }
            return .empty()
        }
        let place = Route(.get, "/v1/place") { _ in
            let before = MultiThreadedEventLoopGroup.currentEventLoop != nil
            await Task.detached { #expect(MultiThreadedEventLoopGroup.currentEventLoop == nil) }.value
            let after = MultiThreadedEventLoopGroup.currentEventLoop != nil
            return .json { $0.member("places", [before, after].description) }
        }
        try await withServer([wait, place], runsHandlersOnEventLoops: hasThemDoSo) { port in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<heldCount {
                    group.addTask {
                        try await RawConnection.open(port) { client in
                            _ = try await client.exchange("GET /v1/wait HTTP/1.1\r\nHost: a\r\n\r\n")
                        }
                    }
                }
                while held.load(ordering: .relaxed) < heldCount { try await pollingPause() }
                try await RawConnection.open(port) { client in
                    try await client.send("GET /v1/place HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(try await client.answer().json?["places"]?.string == [isSo, isSo].description)
                }
                mayEnd.store(true, ordering: .relaxed)
                try await group.waitForAll()
            }
        }
    }

    @Test func `paths and methods lead to one answer each`() async throws {
        let matrix: [(method: String, target: String, status: Int, allow: String?)] = [
            ("GET", "/v1/ping", 200, nil),
            ("GET", "/v1/ping?", 200, nil),
            ("GET", "/v1/ping?a=b/../c", 200, nil),
            ("POST", "/v1/ping", 405, "GET, HEAD"),
            ("OPTIONS", "/v1/ping", 405, "GET, HEAD"),
            ("TRACE", "/v1/ping", 405, "GET, HEAD"),
            ("PROPFIND", "/v1/ping", 405, "GET, HEAD"),
            ("GET", "/v1/echo", 405, "POST"),
            ("PUT", "/v1/things/t-1", 405, "DELETE, GET, HEAD"),
            ("DELETE", "/v1/things/t-1", 204, nil),
            ("GET", "/v1/things/t-1", 200, nil),
            ("GET", "/v1/things/other", 404, nil),
            ("POST", "/v1/things/revoke", 204, nil),
            ("DELETE", "/v1/things/revoke", 405, "POST"),
            ("POST", "/v1/things/t-1/parts/9", 201, nil),
            ("GET", "/v1/things/t-1/parts", 404, nil),
            ("GET", "/v1/things", 404, nil),
            ("GET", "/", 404, nil),
            ("GET", "/v1", 404, nil),
            ("GET", "/V1/ping", 404, nil),
            ("GET", "/v1/ping/", 404, nil),
            ("GET", "//v1/ping", 404, nil),
            ("GET", "/v1//ping", 404, nil),
            ("GET", "/v1/./ping", 404, nil),
            ("GET", "/v1/x/../ping", 404, nil),
            ("GET", "/v1/%70ing", 404, nil),
            ("GET", "/v1%2Fping", 404, nil),
            ("GET", "/v1/ping%00", 404, nil),
            ("GET", "/v1/ping;a=b", 404, nil),
            ("GET", "/v1\\ping", 404, nil),
            ("GET", "/v1/things/..", 404, nil),
            ("GET", "/v1/things/t-1%2F..", 404, nil),
            ("GET", "/v1/things/t-1;x", 404, nil),
            ("GET", "/v1/things/" + String(repeating: "t", count: 65), 404, nil),
            ("GET", "/admin/v1/accounts", 404, nil),
            ("OPTIONS", "*", 404, nil),
            ("GET", "http://other.example/v1/ping", 200, nil),
            ("GET", "HTTPS://other.example/v1/ping?x", 200, nil),
            ("GET", "http://other.example", 404, nil),
            ("GET", "http://other.example?/v1/ping", 404, nil),
        ]
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                for (method, target, status, allow) in matrix {
                    let answer = try await connection.exchange("\(method) \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(answer.status == status, "\(method) \(target)")
                    #expect(answer["Allow"] == allow, "\(method) \(target)")
                    if status == 404 { #expect(answer.code == "not_found", "\(method) \(target)") }
                    if status == 405 { #expect(answer.code == "method_not_allowed", "\(method) \(target)") }
                }
            }
        }
    }

    @Test func `parameters reach the handler in their order`() async throws {
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                let answer = try await connection.exchange(
                    "POST /v1/things/apple/parts/a.b_c~d-E HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(answer.json?["path"]?.string == "apple/a.b_c~d-E")
            }
        }
    }

    @Test func `HEAD is answered as GET, without the body`() async throws {
        try await withServer { port in
            try await RawConnection.open(port) { connection in
                let whole = try await connection.exchange("GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n")
                try await connection.send("HEAD /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n")
                let head = try await connection.answer(toHead: true)
                #expect(head.status == 200)
                #expect(head["Content-Length"] == "\(whole.body.count)")
                #expect(head["Content-Type"] == "application/json")
                try await connection.send("HEAD /v1/none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(try await connection.answer(toHead: true).status == 404)
                try await connection.expectEnd()
            }
        }
    }

    @Test func `no route of one listener answers on the other`() async throws {
        func listener(_ route: Route, _ report: @escaping @Sendable (Int) async -> Void) -> Listener {
            Listener(
                .init(name: "test", host: "127.0.0.1", port: 0), routes: [route],
                group: .singletonMultiThreadedEventLoopGroup, logger: .silent, onListening: report)
        }
        let paths = ["/v1/mobile", "/admin/v1/secret"]
        try await withServices { report in
            paths.map { path in listener(Route(.get, path) { _ in .json { $0.member("path", path) } }, report) }
        } body: { ports, _ in
            // The ports are reported in the order in which they are bound, which need not be that of the listeners.
            var served: [String] = []
            for port in ports {
                for path in paths {
                    let answer = try await RawConnection.open(port) { connection in
                        try await connection.exchange("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                    }
                    if answer.status == 200 { served.append(path) } else { #expect(answer.status == 404) }
                }
            }
            #expect(served.sorted() == paths.sorted())
        }
    }
}
