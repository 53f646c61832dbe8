import Glibc

/// A thread of the operating system for work that blocks, which must never run on the few threads of Swift's
/// cooperative pool.
package enum DedicatedThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(_ name: String, _ run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a detached thread.
    ///
    /// - Parameters:
    ///   - name: shown by `ps` and debuggers; the kernel keeps 15 bytes of it.
    ///   - stackBytes: the system's usual size (8 MB, reserved, not used) if absent.
    /// - Returns: `false` when the system can't make another thread.
    package static func start(_ name: String, stackBytes: Int? = nil, _ run: @escaping @Sendable () -> Void) -> Bool {
        // Signals are for the rest of the process, and the threads of libraries started from here inherit the mask: a
        // write to a connection that the peer has closed must not raise SIGPIPE anywhere.
        var every = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&every)
        // But for the signals of the thread's own faults: the handler that prints a backtrace needs them.
        for fault in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE] { unsafe sigdelset(&every, fault) }
        unsafe pthread_sigmask(SIG_BLOCK, &every, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        if let stackBytes { unsafe pthread_attr_setstacksize(&attributes, stackBytes) }
        var thread = pthread_t()
        let body = unsafe Unmanaged.passRetained(Body(name, run))
        let status = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                DedicatedThread.setName(body.name)
                body.run()
                return nil
            }, body.toOpaque())
        guard status == 0 else {
            unsafe body.release()
            return false
        }
        return true
    }

    /// Through proc(5), because `prctl` is variadic and glibc declares `pthread_setname_np` for GNU programs alone.
    private static func setName(_ name: String) {
        let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        let bytes = Array(name.utf8.prefix(15))
        _ = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
    }
}
