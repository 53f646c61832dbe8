import NIOCore

/// Runs tasks of a connection's requests on its event loop: neither the way to the handler nor that of the response
/// back to the connection changes threads. A loop that has ended runs no more jobs: it is to outlive its connections.
final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
