import Logging

extension Logger {
    /// Of what a command says by its own messages.
    static var quiet: Logger { Logger(label: "countersign", factory: { _ in SwiftLogNoOpLogHandler() }) }

    static var standardError: Logger {
        Logger(label: "countersign", factory: { StreamLogHandler.standardError(label: $0) })
    }
}
