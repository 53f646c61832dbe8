import Foundation
import Glibc

/// A PostgreSQL cluster that a test may stop, start, crash and give a standby, made by `Scripts/postgres`.
package struct PrivateCluster {
    private let directory: URL
    private let isDurable: Bool

    /// Runs a closure with a running cluster and its URL, and removes the cluster afterwards.
    ///
    /// - Parameters:
    ///   - isDurable: whether a commit survives a crash, which costs time.
    ///   - diskMegabytes: the size of a file system of its own. Takes ``Mounts/arePermitted``.
    package static func run<T: Sendable>(
        isDurable: Bool = false, diskMegabytes: Int? = nil, _ body: (PrivateCluster, String) async throws -> T
    ) async throws -> T {
        try await withCluster(isDurable, diskMegabytes) { cluster in
            try await body(cluster, try await cluster.start())
        }
    }

    /// Runs a closure with a standby of this cluster and its URL.
    package func withStandby<T: Sendable>(_ body: (PrivateCluster, String) async throws -> T) async throws -> T {
        try await Self.withCluster(isDurable, nil) { standby in
            try await body(standby, try await standby.script("follow", directory.path))
        }
    }

    private static func withCluster<T: Sendable>(
        _ isDurable: Bool, _ diskMegabytes: Int?, _ body: (PrivateCluster) async throws -> T
    ) async throws -> T {
        let name = "countersign-\(UUID().uuidString.prefix(8))"
        let cluster = PrivateCluster(
            directory: FileManager.default.temporaryDirectory.appending(path: name), isDurable: isDurable)
        try FileManager.default.createDirectory(at: cluster.directory, withIntermediateDirectories: true)
        if let diskMegabytes { try Mounts.mountDisk(of: diskMegabytes, at: cluster.directory) }
        let watchdog = try Watchdog(
            running: #""$1" stop "$2" || "$1" crash "$2"; umount -q "$2"; rm -rf "$2""#, scriptURL.path,
            cluster.directory.path)
        let result: Result<T, any Error>
        do {
            result = .success(try await body(cluster))
        } catch { result = .failure(error) }
        try await cluster.stop()
        if diskMegabytes != nil { try Mounts.unmount(cluster.directory) }
        try FileManager.default.removeItem(at: cluster.directory)
        watchdog.dismiss()
        return try result.get()
    }

    /// Makes this cluster, which has crashed, a standby of another one; returns its URL, which is the one that it had.
    package func follow(_ primary: PrivateCluster) async throws -> String {
        try await script("follow", primary.directory.path, "--replace")
    }

    package func start() async throws -> String { try await script("start") }

    /// The directory of the socket that a cluster's URL names.
    package static func socketDirectory(_ url: String) -> String {
        let path = url.split(separator: "host=").last ?? ""
        return path.removingPercentEncoding ?? String(path)
    }

    package func stop() async throws { _ = try await script("stop") }

    /// Ends all its processes at once, as a power failure would.
    package func crash() async throws { _ = try await script("crash") }

    /// Promotes a standby to primary.
    package func promote() async throws { _ = try await script("promote") }

    // MARK: - A disk that is full

    private var filler: URL { directory.appending(path: "filler") }

    /// Takes all the room that is left on the cluster's own file system.
    package func fillDisk() throws {
        let descriptor = open(filler.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw SetUpFailure("The disk was not filled.") }
        defer { close(descriptor) }
        // The last pages one by one.
        for size in [1 << 20, 1 << 12] {
            let block = [UInt8](repeating: 0, count: size)
            while write(descriptor, block, size) == size {}
        }
        guard errno == ENOSPC else { throw SetUpFailure("The disk was not filled.") }
    }

    /// Gives the room back.
    package func freeDisk() throws { try FileManager.default.removeItem(at: filler) }

    // MARK: - A machine that hangs

    /// Stops all its processes where they are: its connections stay, and nothing answers.
    package func freeze() throws {
        // The first one alone before the others are listed: it begins no more of them then.
        kill(try processes()[0], SIGSTOP)
        for process in try processes() { kill(process, SIGSTOP) }
    }

    /// Lets its processes go on.
    package func thaw() throws { for process in try processes() { kill(process, SIGCONT) } }

    /// Ends the connection of a frozen standby to its primary as soon as it is thawed, so that what has arrived there and
    /// was not read is lost.
    package func cutOff() throws {
        let receivers = try processes().filter { process in
            let title = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
            return title?.contains("walreceiver") == true
        }
        guard !receivers.isEmpty else { throw SetUpFailure("The standby has no connection.") }
        for receiver in receivers { kill(receiver, SIGTERM) }
    }

    /// The server's processes, the first one first.
    private func processes() throws -> [pid_t] {
        // The cluster is elsewhere when its owner can't enter the directory.
        let home = try? String(contentsOf: directory.appending(path: "home"), encoding: .utf8)
        let place = home.map { URL(filePath: $0.trimmingCharacters(in: .newlines)) } ?? directory
        let data = place.appending(path: "data")
        let lines = try String(contentsOf: data.appending(path: "postmaster.pid"), encoding: .utf8)
        let working = { (process: pid_t) in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")
        }
        // Another process may have the number of one that crashed.
        guard let first = lines.split(separator: "\n").first.flatMap({ pid_t($0) }),
            working(first) == data.resolvingSymlinksInPath().path
        else { throw SetUpFailure("The cluster has no processes.") }
        let all = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
        return [first] + all.filter { Self.parent(of: $0) == first }
    }

    private static func parent(of process: pid_t) -> pid_t? {
        // A process may end between the listing and the look. Its name, in parentheses, may hold spaces.
        guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = line.lastIndex(of: ")")
        else { return nil }
        let fields = line[end...].split(separator: " ")
        return fields.count > 2 ? pid_t(fields[2]) : nil
    }

    private static let scriptURL = URL(filePath: #filePath).appending(path: "../../../Scripts/postgres").standardized

    private func script(_ command: String, _ words: String...) async throws -> String {
        let output = directory.appending(path: "output")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = Self.scriptURL
        process.arguments = [command, directory.path] + words + (isDurable ? [] : ["--fast"])
        process.standardOutput = try FileHandle(forWritingTo: output)
        try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.start()
            } catch { continuation.resume(throwing: error) }
        }
        guard process.terminationStatus == 0 else { throw SetUpFailure("Scripts/postgres \(command) failed.") }
        return try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
