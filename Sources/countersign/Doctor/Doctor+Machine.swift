import Foundation
import HTTPServer

/// The checks that need nothing but this machine.
extension Doctor {
    /// Form and mode were checked with the configuration.
    @Sendable func files() async -> [Finding] {
        let paths = reading.sources.rows.filter { $0.namesSecret }.compactMap { row in
            reading.sources.path(of: row).map { (key: row.name, path: $0) }
        }
        let findings = paths.flatMap { file(key: $0.key, path: $0.path) }
        return findings.isEmpty ? [.ok(.files, "secret files are this user's alone: \(paths.count)")] : findings
    }

    private func file(key: String, path: String) -> [Finding] {
        let target = URL(filePath: path).resolvingSymlinksInPath()
        var (file, directory) = (stat(), stat())
        guard stat(target.path, &file) == 0, stat(target.deletingLastPathComponent().path, &directory) == 0 else {
            return .failure(.files, "\(key) names no file: \(target.path)", advice: "put it there")
        }
        var findings: [Finding] = []
        if file.st_uid != geteuid() {
            findings.append(
                .warning(
                    .files, "the file of \(key) belongs to the user \(file.st_uid), and this is \(geteuid())",
                    advice: "run the doctor as the user that runs the service, who should own the file"))
        }
        // Of a directory with the sticky bit only its owner and the file's can replace the file.
        if directory.st_mode & 0o022 != 0, directory.st_mode & UInt32(S_ISVTX) == 0 {
            findings.append(
                .warning(
                    .files, "others may replace the file of \(key): they may write to its directory",
                    advice: "take the write permission of group and others from the directory"))
        }
        return findings
    }

    @Sendable func listeners() async -> [Finding] {
        var findings: [Finding] = []
        let (server, admin) = (configuration.server, configuration.admin)
        for warning in configuration.warnings {
            switch warning {
            case .exposedPrivateListener:
                findings.append(
                    .warning(
                        .listeners, warning.sentence,
                        advice: "see that a firewall keeps everybody but operators and Prometheus from admin.port"))
            case .clientsTrusted:
                findings.append(
                    .warning(.listeners, warning.sentence, advice: "list the addresses of the proxies alone"))
            case .foreignKeys, .unverifiedDatabase:
                break
            }
        }
        if server.trustedProxies == .none, server.publicURL.hasPrefix("https:") {
            findings.append(
                .warning(
                    .listeners,
                    "whatever ends TLS for \(server.publicURL) is not in server.trustedProxies: everybody has one address",
                    advice: "list the proxies in front of the public listener, for limits are by network"))
        }
        return findings.isEmpty
            ? [.ok(.listeners, "public on \(server.host):\(server.port), private on \(admin.host):\(admin.port)")]
            : findings
    }

    @Sendable func descriptors() async -> [Finding] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = limit.rlim_max
        guard count < 8192 else { return .ok(.descriptors, "this user's processes may open \(count) files") }
        return .warning(
            .descriptors, "this user's processes may open no more than \(count) files, one for each connection",
            advice: "raise the hard limit: LimitNOFILE= of systemd, or ulimit -Hn")
    }
}
