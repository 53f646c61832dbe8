public import Foundation

/// Where one session is kept: a document of at most a few kilobytes. It is loaded again before each refresh, because an
/// app's extension may have refreshed meanwhile. Calls are short and may come from any thread.
///
/// The errors may be of any type; they reach the caller as `SessionError.storage`.
public protocol SessionStore: Sendable {
    /// The document; nil when there is none.
    func load() throws -> Data?
    /// Replaces the document, wholly or not at all.
    func save(_ data: Data) throws
    /// Removes the document; nothing when there is none.
    func remove() throws
}

extension SessionStore {
    func document() throws(SessionError) -> Data? {
        do { return try load() } catch { throw SessionError(storing: error) }
    }

    func keep(_ document: Data) throws(SessionError) {
        do { try save(document) } catch { throw SessionError(storing: error) }
    }

    func forget() throws(SessionError) {
        do { try remove() } catch { throw SessionError(storing: error) }
    }
}
