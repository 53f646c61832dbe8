import CPostgres
import Glibc

/// A thread of the operating system for work that blocks, which Swift's own few threads must never do.
enum DedicatedThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(_ name: String, _ run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// libpq, its resolver and TLS need little; the usual 8 MB would only be reserved.
    private static let stackSize = 512 * 1024

    /// False when the system gives no more threads.
    static func start(_ name: String, _ run: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        unsafe pthread_attr_setstacksize(&attributes, stackSize)
        let body = unsafe Unmanaged.passRetained(Body(name, run))
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                unsafe countersign_name_thread(body.name)
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
