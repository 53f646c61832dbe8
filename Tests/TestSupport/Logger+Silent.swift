package import Logging

extension Logger {
    /// Discards what is logged.
    package static var silent: Logger { Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() } }
}
