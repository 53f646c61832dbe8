import Foundation

/// What a process asks of the system that started it.
enum ProcessLimits {
    /// For every command, and before it reads anything: memory holds the key ring and what it opens, and a core file would
    /// keep all of it on a disk. (Making the process undumpable would also take /proc/self/fd from it, which the metrics
    /// read.)
    static func forbidCoreFiles() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// For a server.
    static func adopt() {
        // A peer that closes its end is an error of that write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // Debian's soft limit of 1,024 descriptors is below one listener's connections; the hard one is ours to take.
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
