package import Accounts
package import Curl
package import Logging
import Metrics
import Primitives
package import Storage
import Synchronization

/// The worker that sends the mails of the outbox, beside any number of processes that do the same.
///
/// A mail is sent at least once: a process that dies between the server's last reply and its own commit leaves the row to
/// another one, which sends the same message again, under the same Message-ID. A code is not sent again where the server
/// may have it and has not said so.
///
/// A mail that is on its way holds up those behind it, so the time at which an attacker's own one comes would show whether
/// the one before it was sent. A code that is dropped holds them up for as long.
package final class MailWorker: Sendable {
    /// The number of mails that one process sends at a time: so many callers of ``sendNext()``.
    package static let concurrency = 4
    /// Seconds after which the row of a process that died is free again. Longer than an attempt can take.
    package static let lease: Int64 = 160
    /// How long a mail is taken to be on its way before one was sent.
    package static let usualSend = Duration.milliseconds(500)
    /// How long a dropped code holds others up at most: one slow answer of the mail server must not be repeated by all.
    package static let longestHold = Duration.seconds(5)
    /// A code that has waited for more seconds than this holds up no other: a flood of codes for no account would delay
    /// each one that a person waits for by its own length.
    package static let longestHoldingWait: Int64 = 10

    private let store: MailStore
    private let transport: any MailTransport
    private let templates: MailTemplates
    private let sender: EmailAddress
    private let codes: EmailCodes
    private let allowsNotice: @Sendable (String, EmailAddress) async throws -> Bool
    private let hold: @Sendable (Duration) async -> Void
    /// How long the last mail that was sent was on its way.
    private let lastSend = Mutex(MailWorker.usualSend)
    private let clock: any WallClock
    private let logger: Logger
    private let outcomes = CaseCounters<Outcome>(label: "countersign_mails_total", by: "outcome")
    private let backlog = BacklogGauges(kind: "mail")
    private let time = Timer(label: "countersign_mail_send_seconds")

    private enum Outcome: String, CaseIterable {
        case sent
        case postponed
        case failed
        /// No account awaited the mail any more, its code was gone, or its reader has just had as many like it.
        case dropped
    }

    /// - Parameters:
    ///   - allowsNotice: counts a notice to an address, and says whether there may be one more that says the same.
    ///   - hold: waits for as long, or until the service shuts down.
    package init(
        store: MailStore, transport: any MailTransport, templates: MailTemplates, sender: EmailAddress,
        codes: EmailCodes, allowsNotice: @escaping @Sendable (String, EmailAddress) async throws -> Bool,
        hold: @escaping @Sendable (Duration) async -> Void, clock: any WallClock, logger: Logger
    ) {
        self.store = store
        self.transport = transport
        self.templates = templates
        self.sender = sender
        self.codes = codes
        self.allowsNotice = allowsNotice
        self.hold = hold
        self.clock = clock
        self.logger = logger
    }

    /// Claims and handles the mail that is to be sent next.
    ///
    /// - Returns: whether there was one.
    package func sendNext() async throws -> Bool {
        let call = clock.call(by: .service)
        let claimed = try await store.claim(by: call, lease: MailWorker.lease)
        logger.report(claimed.unreadable, in: "outbox")
        for _ in claimed.unreadable { outcomes.count(.failed) }
        guard let mail = claimed.work.first else { return !claimed.unreadable.isEmpty }
        switch step(for: mail, at: call.now) {
        case .drop:
            try await drop(mail)
            await holdUp(behind: mail, at: call.now)
        case .giveUp(let reason):
            try await giveUp(mail, reason)
        case .postpone(let reason):
            try await postpone(mail, reason)
        case .send(let message):
            if try await isOneTooMany(mail) { try await drop(mail) } else { try await send(message, as: mail) }
        }
        return true
    }

    /// Whether it is a notice to an address that no account has proven, or of an account that is new there, and the address
    /// has got as many that say the same as it may. An account that is made with it, does something and is deleted has allowances
    /// of its own each time.
    private func isOneTooMany(_ mail: ClaimedMail) async throws -> Bool {
        // The first attempt counts for all.
        guard mail.attempt == 1, let kind = mail.kind, kind.purpose == nil, let recipient = mail.recipient,
            mail.holderProof != .proven || kind == .accountCreated
        else { return false }
        let words = [kind.rawValue, mail.provider?.rawValue, mail.clientName]
        return try await !allowsNotice(words.compactMap(\.self).joined(separator: " "), recipient)
    }

    private func drop(_ mail: ClaimedMail) async throws {
        try await store.delete(mail)
        outcomes.count(.dropped)
    }

    /// Keeps the caller from the next mail for as long as this one would have been on its way.
    private func holdUp(behind mail: ClaimedMail, at now: Timestamp) async {
        let waited = now.seconds - (mail.id.time ?? now).seconds
        guard waited <= MailWorker.longestHoldingWait else { return }
        await hold(min(lastSend.withLock { $0 }, MailWorker.longestHold))
    }

    /// The decision about a claimed mail.
    private enum Step {
        case send(MailMessage)
        case drop
        case postpone(String)
        case giveUp(String)
    }

    private func step(for mail: ClaimedMail, at now: Timestamp) -> Step {
        if let kind = mail.kind, let purpose = kind.purpose {
            let isAwaited =
                switch purpose {
                case .verifyEmail: mail.isUnproven
                case .signIn, .bind, .resetPassword: mail.holderProof != nil
                case .register: true
                }
            guard isAwaited else { return .drop }
        }
        guard mail.expiresAt > now else { return .giveUp(MailStore.expired) }
        // A process of a later release may know the kind.
        guard let requested = mail.kind else { return .postpone("no_template") }
        let kind: Mail.Kind =
            mail.isResetRefused
            ? .resetBySignIn
            : mail.isRegistrationTaken ? .registerTaken : mail.isRegistrationOfClaimed ? .signInCode : requested
        guard let recipient = mail.recipient else { return .giveUp("no_recipient") }
        var values = MailTemplates.Values(provider: mail.provider, clientName: mail.clientName)
        if kind.purpose != nil {
            guard let code = mail.code, code.purpose == requested.purpose else { return .drop }
            guard let digits = codes.digits(of: code) else { return .postpone("key_missing") }
            values.code = digits
            // Rounded up, so that a fresh code has all of its minutes.
            values.minutes = (code.expiresAt.seconds - now.seconds + 59) / 60
        }
        guard let rendered = templates.render(kind, in: mail.language, values) else { return .postpone("no_template") }
        return .send(
            MailMessage(
                id: mail.id, date: now, sender: sender, senderName: templates.serviceName, recipient: recipient,
                content: rendered))
    }

    private func send(_ message: MailMessage, as mail: ClaimedMail) async throws {
        let started = ContinuousClock.now
        do throws(MailTransportError) {
            let outgoing = OutgoingMail(sender: sender.text, recipient: message.recipient.text, content: message.bytes)
            try await transport.send(outgoing)
        } catch {
            time.record(duration: .now - started)
            // 4xx says that they can't be checked now (RFC 4954 §6).
            if error.code == .notAuthenticated, error.reply.map({ $0 >= 500 }) ?? true {
                logger.error(
                    error.reply == nil
                        ? "mail server offered no login, check mail.smtpUrl"
                        : "mail server refused user and password, check mail.smtpUrl",
                    metadata: ["error": "\(error.reasonCode)"])
            }
            if error.code == .timedOutAfterData { return try await postponeUnanswered(mail, error.reasonCode) }
            return error.isPermanent
                ? try await giveUp(mail, error.reasonCode) : try await postpone(mail, error.reasonCode)
        }
        let duration = ContinuousClock.now - started
        lastSend.withLock { $0 = duration }
        time.record(duration: duration)
        outcomes.count(.sent)
        logger.debug("mail sent", metadata: metadata(mail))
        try await store.finish(mail, by: clock.call(by: .service))
    }

    private func postpone(_ mail: ClaimedMail, _ reason: String) async throws {
        guard let delay = RetrySchedule.delay(after: mail.failures + 1, jitter: .random(in: 0...1)) else {
            return try await giveUp(mail, reason)
        }
        try await postpone(mail, reason, by: delay)
    }

    /// Its reader may get a mail that the server has not answered at each attempt. A code is not sent again, as who needs it
    /// asks once more; a notice when it has waited for as long again, an hour at least.
    private func postponeUnanswered(_ mail: ClaimedMail, _ reason: String) async throws {
        guard mail.kind?.purpose == nil else { return try await giveUp(mail, reason) }
        let created = mail.expiresAt.seconds - Lifetimes.noticeSeconds
        try await postpone(mail, reason, by: max(3600, clock.now().seconds - created) * 1_000_000)
    }

    /// - Parameter delay: microseconds.
    private func postpone(_ mail: ClaimedMail, _ reason: String, by delay: Int64) async throws {
        // At its expiry at the latest, the mail is given up.
        let next = min(Timestamp(microseconds: clock.now().microseconds + delay), mail.expiresAt)
        try await store.postpone(mail, error: reason, until: next)
        outcomes.count(.postponed)
        var metadata = metadata(mail)
        metadata["error"] = "\(reason)"
        metadata["nextAttempt"] = "\(next.rfc3339)"
        logger.warning("mail not sent, will retry", metadata: metadata)
    }

    private func giveUp(_ mail: ClaimedMail, _ reason: String) async throws {
        try await store.giveUp(mail, error: reason, by: clock.call(by: .service))
        outcomes.count(.failed)
        var metadata = metadata(mail)
        metadata["error"] = "\(reason)"
        logger.error("mail given up", metadata: metadata)
    }

    /// The log metadata of a mail, without any of its content.
    private func metadata(_ mail: ClaimedMail) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "mail": "\(mail.id)", "template": "\(mail.kind?.rawValue ?? "unknown")", "attempt": "\(mail.attempt)",
        ]
        if let recipient = mail.recipient {
            metadata["recipient"] = .stringConvertible(PersonalText(recipient.text))
        }
        return metadata
    }

    /// Updates the gauges of the backlog.
    package func report() async throws {
        let now = clock.now()
        backlog.record(try await store.backlog(at: now), at: now)
    }
}
