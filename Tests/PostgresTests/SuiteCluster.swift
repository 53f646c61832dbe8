import Foundation
import Postgres
import TestSupport

/// A private cluster for the tests of a suite that change nothing of it: each has a database of its own there.
struct SuiteCluster: TestFixture {
    let url: String

    static func run(_ body: (SuiteCluster) async throws -> Void) async throws {
        try await PrivateCluster.run { _, url in try await body(SuiteCluster(url: url)) }
    }

    /// A new database, which goes with the cluster. Its commits wait for no standby.
    func makeDatabase() async throws -> String {
        let name = "test_" + UUID().uuidString.replacing("-", with: "").lowercased()
        _ = try await ScratchDatabase(url: url + Self.localCommits).withPool(.test(poolSize: 1)) { database in
            try await database.execute("CREATE DATABASE \(unsafeSQL: name)")
        }
        return name
    }

    /// The URL of a database by the server's own socket.
    func url(of name: String) -> String { url.replacing("/postgres?", with: "/\(name)?") }

    /// Behind a URL: commits wait for no standby, whatever the cluster's setting.
    static let localCommits = "&options=-c%20synchronous_commit%3Dlocal"
}
