import Accounts
import Curl
import JSON
import Primitives

/// The checks of everything that the service needs. They change nothing.
struct Doctor: Sendable {
    /// A check of one thing, or of several of which the later ones depend on the first.
    struct Check: Sendable {
        /// The name of the finding when the check times out.
        let name: CheckName
        var timeoutStatus = Finding.Status.failure
        /// Where it may take longer than the others.
        var timeout: Duration?
        let find: @Sendable () async -> [Finding]
    }

    let reading: ConfigurationReading<ServiceConfiguration>
    let fetcher: any Fetcher
    let clock: any WallClock
    /// The limit of each check.
    var timeout = Duration.seconds(5)
    /// Whether an event is posted to each endpoint of the webhooks.
    var testsWebhooks = false

    var configuration: ServiceConfiguration { reading.section }

    /// All findings, in a fixed order.
    func examine() async -> [Finding] {
        let findings = await withTaskGroup(of: [Finding].self) { group in
            for check in checks {
                group.addTask { await self.findings(of: check) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        return [.ok(.configuration, "every value is one that its key can have")] + unknownVariables
            + CheckName.allCases.flatMap { name in findings.filter { $0.check == name } }
    }

    private var unknownVariables: [Finding] {
        reading.sources.unknownVariables.map { variable in
            .warning(
                .configuration, "\(variable)",
                advice: "correct or remove it, unless it belongs to another release or another program")
        }
    }

    private var checks: [Check] {
        [
            Check(name: .files, find: files), Check(name: .listeners, find: listeners),
            Check(name: .descriptors, find: descriptors), Check(name: .database, find: database),
            Check(name: .keyRing, timeoutStatus: .warning, find: keyRing),
            Check(name: .passwords, timeoutStatus: .warning, find: passwords),
            Check(name: .consoleStaff, timeoutStatus: .warning, find: consoleStaff),
            Check(name: .appleTeams, timeoutStatus: .warning, find: appleTeams),
            Check(name: .appleSecret, find: appleSecret), Check(name: .appleKeys, find: appleKeys),
            Check(name: .googleKeys, find: googleKeys), Check(name: .appleEndpoints, find: appleEndpoints),
            Check(name: .googleEndpoints, find: googleEndpoints), Check(name: .googleEvents, find: googleEvents),
            Check(name: .mail, find: mail), Check(name: .publicURL, find: publicURL),
            Check(name: .webSignIn, find: webSignIn),
            Check(name: .appFlip, timeoutStatus: .warning, find: appFlip),
            Check(name: .consentTexts, timeoutStatus: .warning, find: consentTexts),
            Check(name: .webhooks, timeoutStatus: .warning, timeout: Self.webhookTimeout, find: webhooks),
        ]
    }

    /// The findings of a check, or the one that it timed out.
    private func findings(of check: Check) async -> [Finding] {
        let limit = max(timeout, check.timeout ?? timeout)
        return await withTimeout(limit) { await check.find() } ?? [
            Finding(
                check: check.name, status: check.timeoutStatus,
                detail: "no end within \(limit.components.seconds) seconds",
                advice: "see whether what it asks answers")
        ]
    }
}

/// `1 key`, `2 keys`.
func counted(_ count: Int, _ noun: String, _ plural: String = "s") -> String {
    "\(count) \(noun)\(count == 1 ? "" : plural)"
}

extension [Finding] {
    var status: Finding.Status { map(\.status).max() ?? .ok }

    /// A line each, what is wrong first, in columns.
    var lines: [String] {
        let width = map(\.status.rawValue.utf8.count).max() ?? 0
        return Finding.Status.allCases.reversed().flatMap { status in
            filter { $0.status == status }.map { $0.line(padded: width) }
        }
    }

    /// `{"status","checks":[{"name","status","detail","advice"?}]}`.
    var json: String {
        JSONWriter.text { writer in
            writer.member("status", status.rawValue)
            writer.objects("checks", of: self) { finding, writer in
                writer.member("name", finding.check.rawValue)
                writer.member("status", finding.status.rawValue)
                writer.member("detail", finding.detail)
                writer.member("advice", finding.advice)
            }
        }
    }

    /// The findings about a faulty configuration, with which nothing else can be examined.
    init(_ faults: ConfigurationFaults) {
        self = faults.faults.map { fault in
            .failure(.configuration, fault.description, advice: "correct it, and run the doctor again for the rest")
        }
    }
}
