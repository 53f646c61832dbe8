package import Accounts
package import KeyRing
package import SignIn
import Storage

/// Who is let into the console, under the configuration of the moment.
package struct ConsoleEntrance: Sendable {
    /// `nil` where staff don't sign in with Google.
    package let staff: StaffSignIn?
    package let acceptsKeys: Bool
    let guesses: SecretGuesses

    /// - Parameter guesses: the limits of those who are refused.
    package init(staff: StaffSignIn?, acceptsKeys: Bool, guesses: SecretGuesses) {
        self.staff = staff
        self.acceptsKeys = acceptsKeys
        self.guesses = guesses
    }
}

/// The sessions of administrators at the console: a cookie that stands for a key, or for a name of the staff. Key and list
/// are looked at on each use, so that the revocation of a key ends them at once, in every process, and the removal from the
/// list as soon as the first process knows of it.
package struct ConsoleSessions: Sendable {
    private let administration: Administration
    private let secrets: ConsoleSecrets
    private let store: ConsoleSessionStore
    private let staffStore: ConsoleStaffStore
    private let currentEntrance: @Sendable () -> ConsoleEntrance

    package init(
        administration: Administration, keyRing: KeyRing, entrance: @escaping @Sendable () -> ConsoleEntrance
    ) {
        self.administration = administration
        secrets = ConsoleSecrets(keyRing: keyRing)
        store = ConsoleSessionStore(database: administration.database)
        staffStore = ConsoleStaffStore(database: administration.database)
        currentEntrance = entrance
    }

    package var entrance: ConsoleEntrance { currentEntrance() }

    /// - Parameter presented: the key as it was typed.
    /// - Throws: `forbidden` when it is for the feed alone.
    package func open(
        presenting presented: String, by call: Call
    ) async throws(AdministrationFailure) -> ConsoleSecret {
        guard entrance.acceptsKeys else { throw .unknownKey }
        let key = try await administration.key(presenting: Array(presented.utf8), by: call)
        guard key.opensConsole else { throw .forbidden }
        let administrator = administration.administrator(with: key, by: call)
        let (secret, hash) = try secrets.fresh(for: .key(key.id))
        let event = AuditEvent(.consoleOpened, from: administrator.call.origin, reason: "\(key.id)")
        let isOpen = try await stored {
            try await store.open(hash, for: key.id, recording: event, by: administrator.call)
        }
        guard isOpen else { throw .unknownKey }
        return secret
    }

    /// - Parameter isActivity: `false` for a page that loads itself again, which doesn't put off the idle end.
    /// - Returns: `nil` when the session has ended.
    package func administrator(
        of secret: ConsoleSecret?, isActivity: Bool, by call: Call
    ) async throws(AdministrationFailure) -> Administrator? {
        guard let (hash, holder) = secret.flatMap(secrets.read) else { return nil }
        switch holder {
        case .key(let keyID):
            guard entrance.acceptsKeys,
                let key = try await stored({ try await store.use(hash, of: keyID, isActivity: isActivity) }),
                key.opensConsole
            else { return nil }
            return administration.administrator(with: key, by: call)
        case .person(let tag):
            guard let name = try await stored({ try await staffStore.use(hash, isActivity: isActivity) }) else {
                return nil
            }
            guard let person = entrance.staff?.staff.person(named: name), ConsoleHolder.tag(of: person) == tag else {
                // Gone for every process, whether or not it has read the list that this one has.
                try await stored { try await store.end(hash) }
                return nil
            }
            return administration.administrator(person, by: call)
        }
    }

    package func end(_ secret: ConsoleSecret?) async throws(AdministrationFailure) {
        guard let (hash, _) = secret.flatMap(secrets.read) else { return }
        try await stored { try await store.end(hash) }
    }
}

// MARK: - Staff

extension ConsoleSessions {
    /// Sends a browser to Google.
    ///
    /// - Parameters:
    ///   - destination: the page of the console that it leads to.
    ///   - redirectURI: that of the callback, as the browser reaches it.
    package func begin(
        to destination: String, redirectURI: String, by call: Call
    ) async throws(AdministrationFailure) -> (flow: StaffFlow, url: String) {
        let entrance = entrance
        guard let staff = entrance.staff else { throw .notFound }
        do {
            try await entrance.guesses.noteBeginning(by: call)
        } catch {
            throw AdministrationFailure(limiting: error)
        }
        let flow: StaffFlow
        do {
            flow = try .fresh()
        } catch {
            throw .fault(operation: "console flow")
        }
        let url = try staff.url(for: flow, redirectURI: redirectURI)
        try await stored { try await staffStore.begin(flow.hash, to: destination) }
        return (flow, url)
    }

    /// How a browser comes back from Google.
    package enum Return: Sendable {
        /// - Parameter destination: the page of the console that it goes on to.
        case opened(ConsoleSecret, destination: String)
        case refused(StaffSignIn.Refusal)
        /// The answer belongs to no flow of this browser. One that is under way goes on.
        case stray
    }

    /// - Parameter flow: of the browser's cookie; `nil` when it has none.
    package func finish(
        _ answer: StaffSignIn.Answer, flow: StaffFlow?, redirectURI: String, by call: Call
    ) async throws(AdministrationFailure) -> Return {
        let entrance = entrance
        guard let staff = entrance.staff else { throw .notFound }
        // Before anything is spent: any site can send a browser here, and so can another tab.
        guard let flow, try answer.belongs(to: flow) else {
            administration.noteRefusedAtConsole(StaffSignIn.Refusal.flow.reason, by: call)
            return .stray
        }
        do {
            guard let destination = try await stored({ try await staffStore.take(flow.hash) }) else {
                throw StaffSignIn.Refusal.flow
            }
            let found = try await staff.person(by: answer, of: flow, redirectURI: redirectURI, at: call.now)
            return .opened(try await open(for: found, by: call), destination: destination)
        } catch let refusal as StaffSignIn.Refusal {
            administration.noteRefusedAtConsole(refusal.reason, by: call)
            guard refusal.isWrongGuess else { return .refused(refusal) }
            do {
                try await entrance.guesses.noteWrong(by: call)
            } catch {
                throw AdministrationFailure(limiting: error)
            }
            return .refused(refusal)
        } catch {
            throw error as? AdministrationFailure ?? AdministrationFailure(stored: error)
        }
    }

    private func open(for found: StaffSignIn.Found, by call: Call) async throws -> ConsoleSecret {
        let administrator = administration.administrator(found.person, by: call)
        let (secret, hash) = try secrets.fresh(for: .person(tag: ConsoleHolder.tag(of: found.person)))
        let event = AuditEvent(.consoleOpened, from: administrator.call.origin, reason: "google")
        let opening = try await stored {
            try await staffStore.open(
                hash, for: found.person.name, of: found.subject, recording: event, by: administrator.call)
        }
        switch opening {
        case .opened: return secret
        case .otherSubject: throw StaffSignIn.Refusal.notAllowed(reason: "subject_changed")
        case .nameTaken: throw StaffSignIn.Refusal.notAllowed(reason: "name_taken")
        }
    }
}

extension Administration {
    /// A member of the staff, with the scopes of the list.
    func administrator(_ person: ConsoleStaff.Person, by call: Call) -> Administrator {
        administrator(named: person.name, scopes: person.scopes, by: call)
    }

    /// Ends the sessions of a member of the staff at the console.
    ///
    /// - Returns: their number.
    package func endConsole(of name: String, by administrator: Administrator) async throws(AdministrationFailure) -> Int
    {
        try await found {
            try await ConsoleStaffStore(database: database).endSessions(of: name, by: administrator.call)
        }
    }

    /// Releases the name of a member of the staff for another account at Google, and ends its sessions.
    package func forgetConsole(_ name: String, by administrator: Administrator) async throws(AdministrationFailure) {
        try await changed { try await ConsoleStaffStore(database: database).forget(name, by: administrator.call) }
    }

    /// The names of the staff that live admin keys have too. The trail knows either by the name alone.
    package func keyNames(among staff: ConsoleStaff) async throws(AdministrationFailure) -> [String] {
        let names = Set(try await adminKeys().filter { $0.revokedAt == nil }.map(\.name))
        return staff.people.map(\.name).filter(names.contains)
    }
}
