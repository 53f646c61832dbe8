import Foundation
import Testing

/// The dependencies that are compiled into the service, and the build of its image.
@Suite struct DependencyTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    /// The first version of each package without a known vulnerability.
    private static let fixed = ["swift-nio": "2.100.0", "swift-nio-http2": "1.44.1"]

    private struct Resolution: Decodable {
        struct Pin: Decodable {
            struct State: Decodable {
                let version: String?
                let revision: String
            }
            let identity: String
            let location: String
            let state: State
        }
        let pins: [Pin]
    }

    private static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private static func pins() throws -> [Resolution.Pin] {
        try JSONDecoder().decode(Resolution.self, from: Data(text(of: "Package.resolved").utf8)).pins
    }

    @Test func `no dependency has a vulnerability that was fixed`() throws {
        let pins = try Self.pins()
        #expect(pins.contains { $0.identity == "swift-nio" })
        for pin in pins {
            guard let least = Self.fixed[pin.identity] else { continue }
            let version = try #require(pin.state.version, "\(pin.identity)")
            #expect(
                version.compare(least, options: .numeric) != .orderedAscending, "\(pin.identity) \(version) < \(least)")
        }
    }

    @Test func `each dependency is a release, fetched over TLS`() throws {
        for pin in try Self.pins() {
            #expect(pin.state.version?.wholeMatch(of: /\d+\.\d+\.\d+/) != nil, "\(pin.identity)")
            #expect(pin.location.hasPrefix("https://"), "\(pin.identity)")
        }
    }

    @Test func `the manifest requires releases, and none with such a vulnerability`() throws {
        let package = /\.package\(url: "[^"]*\/([^"\/]+)", (\w+): "([^"]+)"/
        let asked = try Self.text(of: "Package.swift").matches(of: package)
        #expect(asked.count == 10)
        for dependency in asked {
            let (name, bound, version) = (String(dependency.1), dependency.2, String(dependency.3))
            // Up to the next major version; no branch, no revision.
            #expect(bound == "from", "\(name)")
            if let least = Self.fixed[name] {
                #expect(version.compare(least, options: .numeric) != .orderedAscending, "\(name) from \(version)")
            }
        }
    }

    /// What the file asks of the builder of the image. That the build needs no network is not tried here.
    @Test func `every step of the image that has our source asks for no network`() throws {
        let dockerfile = try Self.text(of: "Dockerfile").replacing("\\\n", with: " ")
        var hasSource = false
        var compiling = 0
        for line in dockerfile.split(separator: "\n") {
            let words = line.split(separator: " ")
            switch words.first {
            // A stage that continues the build has what that has.
            case "FROM": hasSource = words.dropFirst().first == "build"
            case "COPY" where words.contains("Sources"): hasSource = true
            case "RUN" where hasSource:
                #expect(words[1] == "--network=none", "\(line)")
                compiling += line.contains("swift build") ? 1 : 0
            case "RUN": #expect(!line.contains("swift build"), "\(line)")
            default: break
            }
        }
        #expect(compiling == 2)
    }
}
