// swift-tools-version: 6.2
import PackageDescription

// Without traits only CountersignClient is fetched and built, not the service and its dependencies. An app names the
// repository instead of a path:
//     .package(url: "https://git.example.com/countersign", from: "0.1.0", traits: [])
let package = Package(
    name: "AppCLI",
    platforms: [.macOS(.v12)],
    dependencies: [.package(name: "countersign", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "AppCLI", dependencies: [.product(name: "CountersignClient", package: "countersign")],
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")])
    ]
)
