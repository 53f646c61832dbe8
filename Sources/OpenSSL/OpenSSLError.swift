import COpenSSL

/// A call to OpenSSL that did not succeed, or a key or an argument that this target refuses before OpenSSL sees it.
package struct OpenSSLError: Error, Sendable {
    /// The OpenSSL function, or what was being done.
    package let operation: String
    /// OpenSSL's packed error code; 0 when the refusal is ours.
    package let code: UInt
    /// OpenSSL's reason text or ours. Both are fixed texts: neither ever quotes a key or a message.
    package let reason: String
    /// `Target/File.swift:line`.
    package let location: String

    /// Takes the root cause, which OpenSSL queues first, and leaves the thread's queue empty.
    ///
    /// The queue belongs to the thread, and libcurl and libpq use OpenSSL too. So every entry point of this target
    /// empties it first, to read no error but its own, and leaves it empty, so that they see none of ours. All calls
    /// between are synchronous: no suspension can move them to another thread half way.
    init(_ operation: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        let code = ERR_get_error()
        ERR_clear_error()
        self.operation = "\(operation)"
        self.code = code
        self.reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "no reason given"
        self.location = "\(file):\(line)"
    }

    /// A refusal of our own. The queue is emptied all the same: a check that failed may have filled it.
    init(_ operation: StaticString, refused reason: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        ERR_clear_error()
        self.operation = "\(operation)"
        self.code = 0
        self.reason = "\(reason)"
        self.location = "\(file):\(line)"
    }
}

extension OpenSSLError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Says nothing about why: this text may reach a log or a client.
    package var description: String { "A cryptographic operation failed." }

    package var debugDescription: String { "\(operation): \(reason) (code \(String(code, radix: 16))) at \(location)" }
}

/// Checks the result of the many OpenSSL functions that mean success by exactly 1.
func require(
    _ result: Int32, _ operation: StaticString, file: StaticString = #fileID, line: UInt = #line
) throws(OpenSSLError) {
    guard result == 1 else { throw OpenSSLError(operation, file: file, line: line) }
}
