import Foundation

/// The resource limits and signal dispositions that a process sets for itself.
enum ProcessLimits {
    /// Forbids core files. For every command, before it reads anything: memory holds the key ring and decrypted
    /// secrets, and a core file would put all of it on a disk. (`PR_SET_DUMPABLE` would also hide /proc/self/fd, which
    /// the metrics read.)
    static func forbidCoreFiles() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// Lets no file or connection that is opened later take the number of a standard stream that is closed, and with it what
    /// is printed. Reading and writing fail as before: what takes its place can only be used the other way.
    static func occupyStandardStreams() {
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) == -1 {
            _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Lets the signals that stop a command do so where it is process 1, as it is in the image: the kernel drops what has
    /// no handler there. The exit code is a shell's for that signal, 128 and its number. A command that traps one
    /// (`UnixSignalsSequence`) takes the handler's place.
    static func endAtSignals() {
        guard getpid() == 1 else { return }
        for number in [SIGTERM, SIGINT, SIGHUP] { signal(number) { _exit(128 + $0) } }
    }

    /// Sets what a server needs.
    static func adopt() {
        // A peer that closes its end is an error of that write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // Debian's soft limit of 1,024 descriptors is below one listener's connections. Any process may raise it to the
        // hard one.
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// How many files and connections this process may have open.
    static var descriptors: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// The connections that each of so many listeners may have. Beside theirs there have to be free descriptors: the runtime
    /// ends a process that gets none for what it looks up, and no call of ours can go out.
    static func connections(ofEachOf listeners: Int) -> Int { max(16, (descriptors - 256) / listeners) }

    /// Has as many heaps as cores and no less than two, where glibc would make eight a core: what one thread frees another one
    /// can use then, so less stays resident after a load. Before there are threads: what is made already stays.
    static func limitArenas() {
        typealias MallocOption = @convention(c) (CInt, CInt) -> CInt
        // <malloc.h> is in no module, and other C libraries lack it.
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        let arenaMaximum: CInt = -8  // M_ARENA_MAX
        _ = unsafe unsafeBitCast(symbol, to: MallocOption.self)(
            arenaMaximum, CInt(max(2, ProcessInfo.processInfo.activeProcessorCount)))
    }
}
