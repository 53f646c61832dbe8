import HTTPServer
import JSON
import NIOPosix
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RoutingTests {
    @Test func `a route for the rest gets what no other route has there, by its own method alone`() async throws {
        func named(_ method: Route.Method, _ path: String) -> Route {
            Route(method, path) { _ in .json { $0.member("route", path) } }
        }
        let routes = [named(.get, "/a/{id}"), named(.post, "/a/b/c"), named(.get, "/a/b/*"), named(.get, "/*")]
        let matrix: [(method: String, target: String, route: String?, status: Int)] = [
            ("GET", "/", "/*", 200), ("HEAD", "/", nil, 200), ("GET", "/x/y", "/*", 200), ("GET", "//a", "/*", 200),
            ("GET", "/a/1", "/a/{id}", 200), ("GET", "/a/b", "/a/b/*", 200), ("GET", "/a", "/*", 200),
            ("GET", "/a/b/", "/a/b/*", 200),
            ("GET", "/a/b/d/e", "/a/b/*", 200), ("GET", "/a/1/2", "/*", 200), ("GET", "/a/b/c", nil, 405),
            ("POST", "/a/b/c", "/a/b/c", 200), ("POST", "/x", nil, 404), ("POST", "/a/b/d", nil, 404),
            ("OPTIONS", "/x", nil, 404),
        ]
        try await withConnection(routes) { client in
            for (method, target, route, status) in matrix {
                try await client.send("\(method) \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try await client.answer(toHead: method == "HEAD")
                #expect(answer.status == status, "\(method) \(target)")
                #expect(answer.json?["route"]?.string == route, "\(method) \(target)")
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
                    group.addTask { try await RawConnection.open(port) { _ = try await $0.exchange(get("/v1/wait")) } }
                }
                while held.load(ordering: .relaxed) < heldCount { try await pollingPause() }
                try await RawConnection.open(port) { client in
                    try await client.send(get("/v1/place"))
                    #expect(try await client.answer().json?["places"]?.string == [isSo, isSo].description)
                }
                mayEnd.store(true, ordering: .relaxed)
                try await group.waitForAll()
            }
        }
    }

    @Test func `paths and methods lead to one answer each`() async throws {
        let matrix = try DataFile("Fixtures/routes.tsv").rows.map { ($0[0], $0[1], Int($0[2]), $0[3]) }
        try await withConnection { connection in
            for (method, target, status, allow) in matrix {
                let answer = try await connection.exchange("\(method) \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(answer.status == status, "\(method) \(target)")
                #expect((answer["Allow"] ?? "-") == allow, "\(method) \(target)")
                if status == 404 { #expect(answer.code == "not_found", "\(method) \(target)") }
                if status == 405 { #expect(answer.code == "method_not_allowed", "\(method) \(target)") }
            }
        }
    }

    @Test func `parameters reach the handler in their order`() async throws {
        try await withConnection { connection in
            let answer = try await connection.exchange(
                "POST /v1/things/apple/parts/a.b_c~d-E HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.json?["path"]?.string == "apple/a.b_c~d-E")
        }
    }

    @Test func `HEAD is answered as GET, without the body`() async throws {
        try await withConnection { connection in
            let whole = try await connection.exchange(get())
            try await connection.send(get(method: "HEAD"))
            let head = try await connection.answer(toHead: true)
            #expect(head.status == 200)
            #expect(head["Content-Length"] == "\(whole.body.count)")
            #expect(head["Content-Type"] == "application/json")
            try await connection.send(get("/v1/none", "Connection: close\r\n", method: "HEAD"))
            #expect(try await connection.answer(toHead: true).status == 404)
            try await connection.expectEnd()
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
                    let answer = try await RawConnection.open(port) { try await $0.exchange(get(path)) }
                    if answer.status == 200 { served.append(path) } else { #expect(answer.status == 404) }
                }
            }
            #expect(served.sorted() == paths.sorted())
        }
    }
}
