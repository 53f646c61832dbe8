import Foundation

/// A value behind a lock. (`Mutex` of the standard library begins with iOS 18.)
final class Locked<Value>: @unchecked Sendable {  // Sendable because the value is reached with the lock held only.
    private var value: Value
    private let lock = NSLock()

    init(_ value: Value) { self.value = value }

    func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
