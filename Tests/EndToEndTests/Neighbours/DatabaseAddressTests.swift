import Foundation
import Postgres
import TestSupport
import Testing

extension Neighbours {
    /// A database whose host name gets another address while the service runs. The service has an `/etc/hosts` of its own.
    @Suite(
        .enabled("Another address for a name needs an /etc/hosts of one's own, and this process may mount none.") {
            let mount = "mount --bind /etc/hostname /etc/hosts"
            return await Neighbours.succeeds("/usr/bin/unshare", "--mount", "/bin/sh", "-c", mount)
        },
        .limitedConcurrency, .timeLimit(.minutes(30)))
    struct DatabaseAddressTests {
        @Test func `a database whose name gets another address is found there without a restart`() async throws {
            try await Sandbox.run { sandbox in
                try await PrivateCluster.run { _, url in
                    let socket = PrivateCluster.socketDirectory(url)
                    let old = try Relay(to: socket)
                    let new = try Relay(to: socket, host: 2, port: old.port)
                    defer {
                        old.stop()
                        new.stop()
                    }
                    let hosts = try PrivateHosts(naming: "database.test", "127.0.0.1")
                    defer { hosts.remove() }
                    let named = [
                        "postgres.url": "postgresql://postgres@database.test:\(old.port)/postgres?sslmode=disable"
                    ]
                    try await World.serve(
                        ScratchDatabase(url: url), sandbox, named, arguments: ["--migrate"], launcher: hosts.launcher
                    ) { world in
                        let service = world.service
                        _ = try await world.newAccount("kim")
                        let token = try await world.appleToken("kim")
                        #expect(old.connectionCount > 0)
                        #expect(new.connectionCount == 0)
                        try hosts.name("database.test", "127.0.0.2")
                        old.stop()
                        try await eventually("sign-ins at the new address") {
                            try await service.signInWithApple(token).status == 200
                        }
                        try await eventually("readiness") { try await service.isReady() }
                        #expect(new.connectionCount > 0)
                    }
                }
            }
        }
    }
}

/// A file that one process sees in the place of `/etc/hosts`, in a mount namespace of its own.
private struct PrivateHosts {
    private let file: URL

    init(naming host: String, _ address: String) throws {
        file = FileManager.default.temporaryDirectory.appending(path: "countersign-hosts-\(UUID().uuidString)")
        try Data().write(to: file)
        try name(host, address)
    }

    /// What becomes the program whose words follow.
    var launcher: [String] {
        ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", #"mount --bind "$0" /etc/hosts && exec "$@""#, file.path]
    }

    /// Writes over what is there, of the same length: a file in its place would not be the one that is mounted.
    func name(_ host: String, _ address: String) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data("127.0.0.1 localhost\n\(address) \(host)\n".utf8))
        try handle.close()
    }

    func remove() { try? FileManager.default.removeItem(at: file) }
}
