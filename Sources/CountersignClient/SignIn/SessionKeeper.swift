import Foundation

/// The document of a client: in memory, and in the store. What the store did not take stays in memory and is saved
/// before anything else is done with it, so a store that fails loses nothing.
struct SessionKeeper {
    private let store: any SessionStore
    /// As it was last loaded or changed; empty before.
    private(set) var known = SessionDocument()
    /// The session as it was last loaded or stored, nil once it has ended: what the store did not take is shown nowhere.
    private(set) var shown: StoredSession?
    /// Whether the store has been loaded or written, so that no session here is none there.
    private(set) var isStoreKnown = false
    private var isUnsaved = false

    init(_ store: any SessionStore) {
        self.store = store
    }

    /// The document in memory; loaded when there is no session in it.
    mutating func current() throws(SessionError) -> SessionDocument {
        known.session == nil || isUnsaved ? try reloaded() : known
    }

    /// The document in the store, where another process may have changed it.
    mutating func reloaded() throws(SessionError) -> SessionDocument {
        if isUnsaved {
            try flush()
        } else {
            try load(try store.document())
        }
        return known
    }

    private mutating func load(_ data: Data?) throws(SessionError) {
        isStoreKnown = true
        known = try SessionDocument(data)
        shown = known.session
    }

    /// Changes the document as it is in the store, and keeps it. When this throws, the change is in memory all the same.
    /// It is saved later if there was a session in memory, which is newer than what a store that fails may hold; what
    /// can't be read is left as it is.
    ///
    /// - Parameter replacing: whether what can't be loaded or read is given up.
    mutating func change(
        replacingUnreadable replacing: Bool = false, _ body: (inout SessionDocument) -> Void
    ) throws(SessionError) {
        if !isUnsaved {
            var failure: SessionError?
            let isKnown = known.session != nil
            do throws(SessionError) {
                let data = try store.document()
                do throws(SessionError) { try load(data) } catch { failure = error }
            } catch {
                if !isKnown { failure = error }
            }
            if let failure, !replacing {
                apply(body)
                throw failure
            }
        }
        apply(body)
        isUnsaved = true
        try flush()
    }

    private mutating func apply(_ body: (inout SessionDocument) -> Void) {
        body(&known)
        if known.session == nil { shown = nil }
    }

    private mutating func flush() throws(SessionError) {
        if known.isEmpty { try store.forget() } else { try store.keep(try StoredForm.write(known)) }
        (isUnsaved, isStoreKnown) = (false, true)
        shown = known.session
    }
}
