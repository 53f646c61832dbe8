import Hummingbird
import NIOCore

/// The context of a request: Hummingbird's, the connection, because some faults end it, and the history entry.
struct SandboxContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The id of the request's history entry; nil for control requests, which are not recorded and meet no faults.
    var historyEntry: Int64?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
