import Hummingbird
import NIOCore

/// A request's surroundings: the connection itself, because some faults end it.
struct SandboxContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// This request's place in the history; nil for the controls, which no fault meets.
    var historyEntry: Int64?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
