import CCurl
import Glibc

/// A thread of the operating system for work that blocks, which Swift's own few threads must never do.
enum DedicatedThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(_ name: String, _ run: @escaping @Sendable () -> Void) {
            // The kernel keeps 15 bytes.
            self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
            self.run = run
        }
    }

    /// False when the system gives no more threads.
    static func start(_ name: String, _ run: @escaping @Sendable () -> Void) -> Bool {
        // libcurl's resolver threads inherit the mask too. Signals are for the rest of the process; in particular a
        // write to a connection that the peer has closed must not raise SIGPIPE anywhere.
        var every = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&every)
        unsafe pthread_sigmask(SIG_BLOCK, &every, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let body = unsafe Unmanaged.passRetained(Body(name, run))
        let status = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                unsafe ccurl_name_thread(pthread_self(), body.name)
                body.run()
                return nil
            }, body.toOpaque())
        guard status == 0 else {
            unsafe body.release()
            return false
        }
        return true
    }
}
