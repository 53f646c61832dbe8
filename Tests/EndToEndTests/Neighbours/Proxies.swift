import Foundation
import TestSupport

/// The proxies in front of the service.
extension Neighbours {
    static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

    /// HAProxy with the configuration that docs/operations has for it.
    ///
    /// - Parameters:
    ///   - servers: the address of each process, and its port for health checks.
    ///   - settings: in its environment, besides.
    static func haproxy(
        _ port: UInt16, before servers: [(address: String, healthPort: String)], _ settings: [String: String] = [:],
        _ body: (SideProcess) async throws -> Void
    ) async throws {
        var environment = ["COUNTERSIGN_BIND": "127.0.0.1:\(port)"]
        for (number, server) in zip(1..., servers) {
            environment["COUNTERSIGN_\(number)"] = server.address
            environment["COUNTERSIGN_\(number)_HEALTH"] = server.healthPort
        }
        environment.merge(settings) { $1 }
        let arguments = ["-db", "-f", root.appending(path: "docs/operations/haproxy.cfg").path]
        try await SideProcess.run("/usr/sbin/haproxy", environment: environment, prepare: { _ in arguments }, body)
    }

    /// nginx as its manual has it for a server that is kept connected. It passes bodies on as they come, which leaves more
    /// to disagree about than a body that it has read to its end.
    static func nginx(_ port: UInt16, before service: UInt16, _ body: (SideProcess) async throws -> Void) async throws {
        try await SideProcess.run(
            "/usr/sbin/nginx",
            prepare: { directory in
                var text = try Fixtures.file("nginx.conf").text
                text.replace("{place}", with: directory.path)
                text.replace("{service}", with: "\(service)")
                text.replace("{port}", with: "\(port)")
                let file = directory.appending(path: "nginx.conf")
                try Data(text.utf8).write(to: file)
                // It opens its default log before it reads where the log is to be.
                return ["-e", "stderr", "-c", file.path]
            }, body)
    }
}
