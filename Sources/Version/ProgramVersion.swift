/// Which program this is. The release is written here; the commit comes from the build.
package enum ProgramVersion {
    package static let number = "0.1.0"

    /// The commit that was checked out when this was built, 40 hexadecimal digits; `unknown` where the build saw neither
    /// a git repository nor an archive of one. Changes that were not committed are not seen.
    package static var commit: String { embeddedCommit }

    /// What a process of the service calls itself at the database: `countersign 0.1.0 48b1973 4711`, the last its id on
    /// its machine. So each process sees which others there are, and who runs what.
    package static func name(ofProcess id: Int32) -> String { "countersign \(number) \(commit.prefix(7)) \(id)" }

    /// The standard library's, `6.3.0`: the service is built with the compiler that it comes with.
    package static var swift: String { "\(_SwiftStdlibVersion.current)" }
}
