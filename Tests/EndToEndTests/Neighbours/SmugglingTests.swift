import Foundation
import JSON
import TestSupport
import Testing

extension Neighbours {
    /// Request smuggling: the service by itself, and behind the real nginx and HAProxy, each with a connection to the service
    /// that it uses for one client after the other.
    @Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct SmugglingTests {
        enum Front: CaseIterable, Sendable {
            case none
            case nginx
            case haproxy
        }

        /// Runs a service and what stands in front of it.
        private func service(behind front: Front, _ body: (World, _ port: UInt16) async throws -> Void) async throws {
            let free = try FreePort.choose(2)
            let (port, healthPort) = (free[0], String(free[1]))
            let settings = [
                "server.publicUrl": "https://lamp.example.com", "server.trustedProxies": "127.0.0.1",
                "health.port": healthPort,
            ]
            try await World.run(settings) { world in
                let own = (address: "127.0.0.1:\(world.service.port)", healthPort: healthPort)
                switch front {
                case .none:
                    try await body(world, world.service.port)
                case .nginx:
                    try await Neighbours.nginx(port, before: world.service.port) { _ in
                        try await awaitFront(port)
                        try await body(world, port)
                    }
                case .haproxy:
                    try await Neighbours.haproxy(port, before: [own, own]) { _ in
                        try await awaitFront(port)
                        try await body(world, port)
                    }
                }
            }
        }

        private func awaitFront(_ port: UInt16) async throws {
            try await eventually("requests to be passed on") { (try? await ask(port, "first"))?.status == 200 }
        }

        /// A plain request, the answer to which has its id.
        private func ask(_ port: UInt16, _ id: String) async throws -> RawAnswer {
            try await RawConnection.exchange(
                port,
                "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\nX-Request-Id: \(id)\r\nConnection: close\r\n\r\n")
        }

        /// Without those that only say that the body may come (RFC 9110 §15.2.1).
        private static func answers(in text: String) -> Int {
            text.replacing("HTTP/1.1 100 ", with: "").components(separatedBy: "HTTP/1.1 ").count - 1
        }

        @Test(arguments: Front.allCases)
        func `no form of a request is two requests, alone or behind a proxy`(front: Front) async throws {
            let forms = try SmugglingForm.all
            try #require(forms.count == 51)
            try await service(behind: front) { world, port in
                for (number, form) in forms.enumerated() {
                    let answer = try await RawConnection.exchange(port, form.text(number))
                    #expect(Self.answers(in: answer.text) == 1, "\(form.name): \(answer.text.prefix(300))")
                    // Somebody else's request on a connection that the proxy has kept.
                    let other = try await ask(port, "other-\(number)")
                    #expect(other.status == 200, "\(form.name)")
                    #expect(other["X-Request-Id"] == "other-\(number)", "\(form.name)")
                    #expect(Self.answers(in: other.text) == 1, "\(form.name)")
                }
                // Its log has a line for each request that it has read.
                let ending = await world.service.stop()
                let read = try ending.error.split(separator: "\n").compactMap { line in
                    line.contains(#""message":"request""#)
                        ? try JSONValue(parsing: Array(line.utf8))["requestId"]?.string : nil
                }
                #expect(read.filter { $0.hasPrefix("hidden-") } == [])
                #expect(read.filter { $0.hasPrefix("other-") }.count == forms.count)
                // Each outer request was read once at most.
                let outer = read.filter { $0.hasPrefix("outer-") }
                #expect(Set(outer).count == outer.count)
            }
        }

        /// What the test above would see if a hidden request were read.
        @Test(arguments: Front.allCases) func `two requests on one connection are two`(front: Front) async throws {
            try await service(behind: front) { world, port in
                let first = "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\nX-Request-Id: hidden-1\r\n\r\n"
                let second = first.replacing("hidden-1\r\n", with: "hidden-2\r\nConnection: close\r\n")
                let answer = try await RawConnection.exchange(port, first + second)
                #expect(Self.answers(in: answer.text) == 2)
                for id in ["hidden-1", "hidden-2"] {
                    #expect(try await world.service.logged(id)["status"]?.string == "200")
                }
            }
        }

        private static func spellings(of path: String, privatePort: UInt16) throws -> [String] {
            let encoded = path.replacing("/", with: "%2f")
            return try Fixtures.file("private-paths.json").decoded(as: [String].self).map { form in
                form.replacing("{path}", with: path).replacing("{rest}", with: String(path.dropFirst()))
                    .replacing("{encoded}", with: encoded).replacing("{port}", with: String(privatePort))
            }
        }

        @Test(arguments: Front.allCases)
        func `no spelling of a private path leads to it by the public listener`(front: Front) async throws {
            try await service(behind: front) { world, port in
                for path in ["/metrics", "/health/ready", "/admin/v1/accounts"] {
                    // 200 or, without an admin key, 401.
                    #expect([200, 401].contains(try await world.service.privateGet(path).status))
                    for request in try Self.spellings(of: path, privatePort: world.service.privatePort) {
                        let answer = try await RawConnection.exchange(port, request)
                        #expect([400, 404, 405, 501].contains(answer.status), "\(request): \(answer.text.prefix(300))")
                        #expect(Self.answers(in: answer.text) == 1, "\(request)")
                    }
                }
            }
        }
    }
}
