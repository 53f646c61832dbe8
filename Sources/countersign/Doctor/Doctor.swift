import Accounts
import Curl
import Foundation
import JSON
import Primitives

/// Looks at everything that a service needs, and changes nothing.
struct Doctor: Sendable {
    /// Looks at one thing, or at several of which the later make no sense without the first.
    struct Check: Sendable {
        /// What is told when it takes too long.
        let name: CheckName
        /// How bad that is.
        var lateness = Finding.Status.failure
        let find: @Sendable () async -> [Finding]
    }

    let reading: ConfigurationReading<ServiceConfiguration>
    let fetcher: any Fetcher
    let clock: any WallClock
    /// For each check.
    var timeout = Duration.seconds(5)

    var configuration: ServiceConfiguration { reading.section }

    /// All that there is to say, in a fixed order.
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
                .configuration, "\(variable) belongs to no key",
                advice: "correct or remove it, unless it is another release's or somebody else's")
        }
    }

    private var checks: [Check] {
        [
            Check(name: .files, find: files), Check(name: .listeners, find: listeners),
            Check(name: .descriptors, find: descriptors), Check(name: .database, find: database),
            Check(name: .keyRing, lateness: .warning, find: keyRing),
            Check(name: .appleSecret, find: appleSecret), Check(name: .appleKeys, find: appleKeys),
            Check(name: .googleKeys, find: googleKeys), Check(name: .appleEndpoints, find: appleEndpoints),
            Check(name: .googleEndpoints, find: googleEndpoints), Check(name: .googleEvents, find: googleEvents),
            Check(name: .mail, find: mail), Check(name: .publicURL, find: publicURL),
        ]
    }

    /// The findings of a check; past the time-out the one that says so.
    private func findings(of check: Check) async -> [Finding] {
        await withTimeout(timeout) { await check.find() } ?? [
            Finding(
                check: check.name, status: check.lateness,
                detail: "no end within \(timeout.components.seconds) seconds",
                advice: "see whether what it asks answers")
        ]
    }
}

extension [Finding] {
    var status: Finding.Status { map(\.status).max() ?? .ok }

    /// `{"status","checks":[{"name","status","detail","advice"?}]}`.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("status", status.rawValue)
        writer.name("checks")
        writer.beginArray()
        for finding in self {
            writer.beginObject()
            writer.member("name", finding.check.rawValue)
            writer.member("status", finding.status.rawValue)
            writer.member("detail", finding.detail)
            if let advice = finding.advice { writer.member("advice", advice) }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// What there is to say of a configuration that nothing can be examined by.
    init(_ faults: ConfigurationFaults) {
        self = faults.faults.map { fault in
            .failure(.configuration, fault.description, advice: "correct it, and run the doctor again for the rest")
        }
    }
}
