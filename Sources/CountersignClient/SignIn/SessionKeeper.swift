import Foundation

/// The document of a client: in memory, and in the store. What the store did not take stays in memory and is saved
/// before anything else is done with it, so a store that fails loses nothing; unless another process has put another
/// session there by then.
struct SessionKeeper {
    private let store: any SessionStore
    /// As it was last loaded or changed; empty before.
    private(set) var known = SessionDocument()
    /// The session as it was last loaded or stored, nil once it has ended: what the store did not take is shown nowhere.
    private(set) var shown: StoredSession?
    /// Whether the store has been loaded or written, so that no session here is none there.
    private(set) var isStoreKnown = false
    /// The session that the store had when it was last loaded or written: what an unsaved document is to replace.
    private var stored: StoredSession?
    private var isUnsaved = false
    /// Whether it is a sign-in while the store could not be loaded or read: that replaces whatever the store has.
    private var replacesAny = false

    init(_ store: any SessionStore) { self.store = store }

    /// The document in memory; loaded when there is no session in it.
    mutating func current() throws(SessionError) -> SessionDocument {
        known.session == nil || isUnsaved ? try reloaded() : known
    }

    /// The document in the store, where another process may have changed it.
    mutating func reloaded() throws(SessionError) -> SessionDocument {
        if !replacesAny { try load() }
        if isUnsaved { try save() }
        return known
    }

    /// Takes over what the store holds, unless the unsaved document is newer.
    private mutating func load() throws(SessionError) {
        let data = try store.document()
        isStoreKnown = true
        let found = try SessionDocument(data)
        let isOlder = isUnsaved && isReplaced(found.session)
        stored = found.session
        if isOlder { return }
        (known, shown, isUnsaved) = (found, found.session, false)
    }

    /// Whether the unsaved document is to replace a session of the store. One that another process has refreshed gives
    /// way to a sign-out or another sign-in, and not to what is in memory of itself: that token is dead.
    private func isReplaced(_ found: StoredSession?) -> Bool {
        found?.sessionID == stored?.sessionID
            && (found?.refreshToken == stored?.refreshToken || found?.sessionID != known.session?.sessionID)
    }

    /// Changes the document as it is in the store, and keeps it. When this throws, the change is in memory all the same.
    /// It is saved later, unless there was no session in memory and the store could not be loaded: what a store that
    /// fails may hold is newer then. What can't be read is left as it is.
    ///
    /// - Parameter replacing: whether what can't be loaded or read is given up.
    mutating func change(
        replacingUnreadable replacing: Bool = false, _ body: (inout SessionDocument) -> Void
    ) throws(SessionError) {
        var failure: SessionError?
        if !replacesAny {
            do throws(SessionError) { try load() } catch { failure = error }
        }
        if failure == nil || replacing || known.session != nil { isUnsaved = true }
        if failure != nil, replacing { replacesAny = true }
        body(&known)
        if known.session == nil { shown = nil }
        if let failure, !replacing { throw failure }
        try save()
    }

    private mutating func save() throws(SessionError) {
        if known.isEmpty { try store.forget() } else { try store.keep(try StoredForm.write(known)) }
        (isUnsaved, replacesAny, isStoreKnown) = (false, false, true)
        (stored, shown) = (known.session, known.session)
    }
}
