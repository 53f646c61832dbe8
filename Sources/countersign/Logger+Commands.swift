import HTTPServer
import Logging

extension Logger {
    /// Of what a command says by its own messages.
    static var quiet: Logger { Logger(label: "countersign", factory: { _ in SwiftLogNoOpLogHandler() }) }

    /// Of what an operator at a terminal should know, in the service's form for one: nothing that is merely going on.
    static var standardError: Logger {
        let level = Reloadable(Logger.Level.notice)
        return Logger(label: "countersign", factory: { _ in ServiceLogHandler(level: level, format: .text) })
    }
}
