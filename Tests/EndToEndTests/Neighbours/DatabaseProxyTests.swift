import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

extension Neighbours {
    /// The real HAProxy between the service and PostgreSQL, with the configuration that deploy/ha has for it.
    @Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct DatabaseProxyTests {
        /// - Parameters:
        ///   - clusters: their URLs. The third node's name has to have an address; none answers there.
        ///   - patroni: the port of each one's stand-in for Patroni.
        private static func haproxy(
            _ port: UInt16, before clusters: [String], patroni: [UInt16], _ body: (SideProcess) async throws -> Void
        ) async throws {
            var environment = [
                "COUNTERSIGN_DATABASE_BIND": "127.0.0.1:\(port)", "COUNTERSIGN_DATABASE_3": "127.0.0.1:1",
                "COUNTERSIGN_PATRONI_3": "127.0.0.1", "COUNTERSIGN_PATRONI_PORT_3": "1",
            ]
            for (number, (url, port)) in zip(1..., zip(clusters, patroni)) {
                environment["COUNTERSIGN_DATABASE_\(number)"] =
                    "unix@\(PrivateCluster.socketDirectory(url))/.s.PGSQL.5432"
                environment["COUNTERSIGN_PATRONI_\(number)"] = "127.0.0.1"
                environment["COUNTERSIGN_PATRONI_PORT_\(number)"] = String(port)
            }
            let arguments = ["-db", "-f", Neighbours.root.appending(path: "deploy/ha/haproxy-postgresql.cfg").path]
            try await SideProcess.run("/usr/sbin/haproxy", environment: environment, prepare: { _ in arguments }, body)
        }

        @Test func `behind HAProxy the service follows the primary`() async throws {
            try await Sandbox.run { sandbox in
                try await PrivateCluster.run { first, firstURL in
                    try await first.withStandby { second, secondURL in
                        let primary = Mutex(1)
                        let patroni = try (1...2).map { number in
                            try LoopbackServer { request in
                                let isPrimary = request.target == "/primary" && primary.withLock { $0 == number }
                                return [.respond(isPrimary ? 200 : 503), .close]
                            }
                        }
                        let port = try FreePort.choose(1)[0]
                        try await Self.haproxy(
                            port, before: [firstURL, secondURL], patroni: patroni.map(\.port)
                        ) { haproxy in
                            try await eventually("HAProxy to know the primary") {
                                haproxy.log.contains("Server primary/db-2 is DOWN")
                            }
                            let proxied = ScratchDatabase(url: "postgresql://postgres@127.0.0.1:\(port)/postgres")
                            try await World.serve(proxied, sandbox, arguments: ["--migrate"]) { world in
                                let service = world.service
                                _ = try await world.newAccount("kim")
                                let token = try await world.appleToken("kim")
                                try await first.crash()
                                try await eventually("readiness to end") {
                                    try await service.privateGet("/health/ready").status == 503
                                }
                                try await second.promote()
                                primary.withLock { $0 = 2 }
                                try await eventually("sign-ins at the new primary") {
                                    try await service.signInWithApple(token).status == 200
                                }
                                try await eventually("readiness") { try await service.isReady() }
                            }
                        }
                    }
                }
            }
        }
    }
}
