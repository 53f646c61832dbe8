import Foundation
import Testing

@testable import Prometheus

@Suite struct ProcessStatisticsTests {
    private static let units = ProcessStatistics.Units(ticksPerSecond: 100, pageBytes: 4096, bootTime: 1_700_000_000)

    /// The line of proc(5) with 52 fields: the fourteenth is 14, and so on.
    private static func stat(name: String) -> String {
        "4711 (\(name)) S " + (4...52).map(String.init).joined(separator: " ") + "\n"
    }

    @Test(arguments: ["countersign", "a b", "a) R 1 2 (b", "))", ""])
    func `the fields are found whatever the process is called`(_ name: String) throws {
        let found = try #require(ProcessStatistics(stat: Self.stat(name: name), units: Self.units))
        #expect(found.cpuSeconds == 0.29)
        #expect(found.startTime == 1_700_000_000.22)
        #expect(found.residentBytes == 24 * 4096)
    }

    @Test(arguments: ["", "4711", "4711 (a)", "4711 (a) S 1 2 3", "4711 (a) S" + String(repeating: " x", count: 60)])
    func `a line that is not whole has no statistics`(_ stat: String) {
        #expect(ProcessStatistics(stat: stat, units: Self.units) == nil)
    }

    /// The process's samples on a page.
    private static func samples() throws -> (cpu: Double, resident: Double, start: Double, open: Double, most: Double) {
        let values = Dictionary(
            uniqueKeysWithValues: PrometheusRegistry().page().split(separator: "\n").filter { !$0.hasPrefix("#") }
                .map { line in (line.prefix { $0 != " " }, Double(line.drop { $0 != " " }.dropFirst())) })
        func value(_ name: Substring) throws -> Double { try #require(values[name] ?? nil) }
        return (
            try value("process_cpu_seconds_total"), try value("process_resident_memory_bytes"),
            try value("process_start_time_seconds"), try value("process_open_fds"), try value("process_max_fds")
        )
    }

    /// In a process of its own, where little else opens files or takes memory. The expected ranges leave room for the
    /// runtime's own.
    @Test func `the page has the statistics of this process`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 512, rlim_max: 1024)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let before = try Self.samples()
            #expect(before.most == 512)
            let now = Date.now.timeIntervalSince1970
            #expect((now - 60...now + 2).contains(before.start))

            let descriptors = (0..<100).map { _ in open("/dev/null", O_RDONLY) }
            #expect(descriptors.allSatisfy { $0 >= 0 })
            var memory = [UInt8](repeating: 1, count: 256 * 1_048_576)
            while try Self.samples().cpu < before.cpu + 0.05 { memory[Int.random(in: memory.indices)] &+= 1 }
            let after = try Self.samples()
            #expect((90.0...110).contains(after.open - before.open))
            #expect((192.0...320).contains((after.resident - before.resident) / 1_048_576), "\(memory[0])")
            #expect(after.start == before.start)
        }
    }
}
