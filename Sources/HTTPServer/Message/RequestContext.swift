package import Logging
import Synchronization

/// The request on whose behalf a task works. Each line that the task logs names it, in whichever layer it is written.
package final class RequestContext: Sendable {
    @TaskLocal static var current: RequestContext?

    let requestID: String
    let trace: TraceParent?
    private let emailNote = Mutex<String?>(nil)

    init(requestID: String, trace: TraceParent?) {
        self.requestID = requestID
        self.trace = trace
    }

    /// Whom the request is about, as it was typed or as the provider says: for the request's own line, where the log may
    /// hold it.
    var email: String? {
        get { emailNote.withLock { $0 } }
        set { emailNote.withLock { $0 = newValue } }
    }

    /// For the log of the service: adds `requestId`, and `traceId` and `parentId` of a request that is part of a trace.
    package static let metadataProvider = Logger.MetadataProvider {
        guard let context = current else { return [:] }
        var metadata: Logger.Metadata = ["requestId": .string(context.requestID)]
        if let trace = context.trace {
            metadata["traceId"] = .string(trace.traceID)
            metadata["parentId"] = .string(trace.parentID)
        }
        return metadata
    }
}
