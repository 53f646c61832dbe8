import Accounts
import Administration
import HTTPServer
import SignIn
import Webhooks

/// The first page: is it well, what is stuck, and how sign-ins went in the last hour.
extension ConsoleAPI {
    /// Seconds: the oldest row that waits, and the oldest row of the trail without a seal, in a service that is well.
    private static let longestWait: Int64 = 600
    private static let longestUnsealed: Int64 = 60
    /// Seconds: the oldest mail that waits. Codes are good for ten minutes, and `CountersignMailStuck` pages by then.
    private static let longestMailWait: Int64 = 180
    /// Seconds for which a row that was given up is reason enough to look.
    private static let failureSeconds: Int64 = 86_400
    /// Seconds: the oldest event that an endpoint has not got.
    private static let longestBehind: Int64 = 900
    /// Seconds: the oldest key set.
    private static let longestKeySetAge: Int64 = 86_400

    var overviewRoutes: [Route] {
        [
            page(ConsolePath.root, nil) { request, visitor in
                var page = try await overview(visitor)
                let isFollowing = try request.parameterValue("follow") != nil
                if isFollowing { page.refreshPath = ConsolePath.root + "?follow=1" }
                page.blocks.append(
                    .paragraph(
                        isFollowing
                            ? .link(
                                "Stop loading this page every \(ConsolePage.followingSeconds) seconds",
                                to: ConsolePath.root)
                            : .link(
                                "Load this page every \(ConsolePage.followingSeconds) seconds",
                                to: ConsolePath.root + "?follow=1")))
                return try show(page, in: visitor)
            }
        ]
    }

    private func overview(_ visitor: ConsoleVisitor) async throws -> ConsolePage {
        let isReady = await environment.isReady()
        let schema = await environment.schema()
        let keySets = environment.keySets()
        // Without them the page still says what the others found.
        let standing = try? await inspection.standing()
        var checks = Self.checks(
            isReady: isReady, schema: schema, keySets: keySets, canSign: environment.canSign(), standing)
        if administration.hasWebhooks {
            checks.append(Self.check(try? await administration.webhooks()))
        }
        let isWell = checks.allSatisfy(\.isWell)
        let mayRead = visitor.may(.read)
        var blocks: [ConsoleBlock] = [
            .paragraph(isWell ? .badge("The service is well", .good) : .badge("The service needs attention", .bad)),
            .table(
                ConsoleTable(
                    caption: "What makes the service well", columns: ["Check", "State", "Now"],
                    rows: checks.map { check in
                        [
                            check.path.flatMap { mayRead ? .link(check.label, to: $0) : nil } ?? .text(check.label),
                            check.isWell ? .badge("well", .good) : .badge("look", .bad), .text(check.figure),
                        ]
                    })),
        ]
        if let standing { blocks += backlogs(standing, mayRead: mayRead) }
        blocks += signIns(standing, mayRead: mayRead)
        return ConsolePage("Overview", blocks)
    }

    private struct Check {
        let label: String
        let isWell: Bool
        let figure: String
        /// Where one acts.
        let path: String?
    }

    private static func checks(
        isReady: Bool, schema: ConsoleEnvironment.Schema, keySets: [ConsoleEnvironment.KeySet],
        canSign: Bool, _ standing: ServiceStanding?
    ) -> [Check] {
        var checks = [
            Check(
                label: "Ready for requests", isWell: isReady, figure: isReady ? "yes" : "no", path: ConsolePath.system),
            Check(
                label: "Schema", isWell: schema.faults.isEmpty,
                figure: schema.faults.first ?? schema.latest ?? "no migration is applied", path: ConsolePath.system),
            Check(
                label: "Signing key", isWell: canSign,
                figure: canSign ? "signs" : "can't be opened: no sign-in succeeds", path: ConsolePath.system),
        ]
        checks += keySets.map { set in
            Check(
                label: "Keys of \(set.provider.brand)", isWell: set.age.map { $0 < longestKeySetAge } ?? false,
                figure: set.age.map { "\(set.keyCount) keys, fetched \(ConsoleCell.duration($0)) ago" }
                    ?? "not fetched yet", path: ConsolePath.system)
        }
        guard let standing else {
            return checks + [Check(label: "Database", isWell: false, figure: "does not answer", path: nil)]
        }
        func age(_ time: Timestamp?) -> Int64 { time.map { max(0, standing.takenAt.seconds - $0.seconds) } ?? 0 }
        func wait(
            _ label: String, _ backlog: OutboxBacklog, _ path: String, atMost longest: Int64 = longestWait
        ) -> Check {
            let hasFailed = backlog.lastFailed.map { age($0) < failureSeconds } ?? false
            var figure: String =
                switch (backlog.oldest, backlog.pending) {
                case (.some(let oldest), _): "the oldest waits \(ConsoleCell.duration(age(oldest)))"
                case (nil, 0): "none waits"
                case (nil, _): "none is held up"
                }
            if hasFailed { figure += ", the last was given up \(ConsoleCell.duration(age(backlog.lastFailed))) ago" }
            return Check(label: label, isWell: age(backlog.oldest) < longest && !hasFailed, figure: figure, path: path)
        }
        return checks + [
            wait("Revocations", standing.revocations, ConsolePath.revocations),
            wait("Mail", standing.mails, ConsolePath.revocations, atMost: longestMailWait),
            wait("Provider events", standing.events, ConsolePath.providerEvents),
            Check(
                label: "Audit trail sealed", isWell: age(standing.unsealedSince) < longestUnsealed,
                figure: standing.unsealedSince == nil
                    ? "every row"
                    : "the oldest row without a seal is \(ConsoleCell.duration(age(standing.unsealedSince))) old",
                path: ConsolePath.audit),
            Check(
                label: "Clock", isWell: abs(standing.secondsAhead) < 60,
                figure: "\(standing.secondsAhead) s ahead of the database's", path: ConsolePath.system),
        ]
    }

    /// - Parameter webhooks: `nil` where they could not be read.
    private static func check(_ webhooks: [WebhookSummary]?) -> Check {
        guard let webhooks else {
            return Check(label: "Webhooks", isWell: false, figure: "could not be read", path: ConsolePath.webhooks)
        }
        let faults = webhooks.flatMap { webhook -> [String] in
            let (name, behind) = (webhook.endpoint.name, webhook.behindSeconds)
            var faults: [String] = []
            if webhook.record.status == .stopped {
                faults.append("\(name) is stopped")
            } else if behind > longestBehind {
                let paused = webhook.record.status == .paused ? "paused and " : ""
                faults.append("\(name) is \(paused)\(ConsoleCell.duration(behind)) behind")
            }
            if let age = webhook.givenUpSecondsAgo, age < failureSeconds {
                faults.append("an event for \(name) was given up \(ConsoleCell.duration(age)) ago")
            }
            return faults
        }
        return Check(
            label: "Webhooks", isWell: faults.isEmpty,
            figure: faults.isEmpty
                ? "none is more than \(ConsoleCell.duration(longestBehind)) behind" : faults.joined(separator: ", "),
            path: ConsolePath.webhooks)
    }

    private func backlogs(_ standing: ServiceStanding, mayRead: Bool) -> [ConsoleBlock] {
        func row(_ label: String, _ backlog: OutboxBacklog, _ path: String) -> [ConsoleCell] {
            [
                mayRead ? .link(label, to: path) : .text(label), .number(backlog.pending), .time(backlog.oldest),
                .number(backlog.failed),
            ]
        }
        return [
            .heading("Backlogs"),
            .table(
                ConsoleTable(
                    caption: "What waits and what was given up", columns: ["What", "Waiting", "Oldest", "Given up"],
                    rows: [
                        row("Revocations", standing.revocations, ConsolePath.revocations),
                        row("Mail", standing.mails, ConsolePath.revocations),
                        row("Provider events", standing.events, ConsolePath.providerEvents),
                    ])),
        ]
            + (mayRead
                ? [
                    .heading("Last failures"),
                    .table(Self.table(of: standing.failures, caption: "The effects that were given up last")),
                ] : [])
    }

    private func signIns(_ standing: ServiceStanding?, mayRead: Bool) -> [ConsoleBlock] {
        let chart = ConsoleChart(minutes: environment.history.minutes)
        let perMinute = Double(chart.accepted * 10 / environment.history.elapsed) / 10
        let since = standing?.takenAt.advanced(bySeconds: -60 * Int64(OutcomeHistory.length)).rfc3339
        return [
            .heading("Sign-ins of the last hour, this process alone"),
            .chart(chart),
            .facts([
                ConsoleFact(
                    "Accepted", rows("\(chart.accepted), \(perMinute) a minute", .signedIn, since: since, mayRead)),
                ConsoleFact(
                    "Refused or failed",
                    chart.refused == 0
                        ? rows("0", nil, since: since, mayRead) : .lines(refusals(chart, since: since, mayRead))),
            ]),
            .paragraph(rows("What the trail has of this hour", nil, since: since, mayRead)),
            .table(
                ConsoleTable(
                    caption: "Refused sign-ins by reason", columns: ["Reason", "Sign-ins"],
                    rows: chart.reasons.map { reason, count in
                        let kind = OutcomeHistory.auditKind(ofReason: reason)
                        let path = kind.flatMap { mayRead ? Self.trail(of: $0, since: since) : nil }
                        return [path.map { .link(reason, to: $0) } ?? .code(reason), .number(count)]
                    }, whenEmpty: "No sign-in was refused.")),
        ]
    }

    /// How many were refused by the kind of row that the trail has of them; where it has none, by reason and without a link.
    /// Where there are several, all of them first.
    private func refusals(_ chart: ConsoleChart, since: String?, _ mayRead: Bool) -> [ConsoleCell] {
        var recorded: [AuditEvent.Kind: Int] = [:]
        var others: [ConsoleCell] = []
        for (reason, count) in chart.reasons {
            if let kind = OutcomeHistory.auditKind(ofReason: reason) {
                recorded[kind, default: 0] += count
            } else {
                others.append(.text("\(count) as \(reason)"))
            }
        }
        let linked = recorded.sorted { $0.key.rawValue < $1.key.rawValue }.map { kind, count in
            rows("\(count) as \(kind.rawValue)", kind, since: since, mayRead)
        }
        let all = linked + others
        return all.count > 1 ? [.number(chart.refused)] + all : all
    }

    /// A figure that leads to its rows of the trail, for a key that may read them.
    ///
    /// - Parameter kind: `nil` for every kind.
    private func rows(_ text: String, _ kind: AuditEvent.Kind?, since: String?, _ mayRead: Bool) -> ConsoleCell {
        mayRead ? .link(text, to: Self.trail(of: kind, since: since)) : .text(text)
    }

    private static func trail(of kind: AuditEvent.Kind?, since: String?) -> String {
        consolePath(ConsolePath.audit, [("type", kind?.rawValue), ("since", since)])
    }
}
