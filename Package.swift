// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6 mode, warnings are errors, imports internal unless they say otherwise.
let habits: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// The targets that touch C also say every unsafe step aloud.
let boundary: [SwiftSetting] = habits + [.strictMemorySafety()]

/// Each target has a page beside its code.
let page = ["README.md"]

let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let metricsTestKit: Target.Dependency = .product(name: "MetricsTestKit", package: "swift-metrics")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioExtras: Target.Dependency = .product(name: "NIOExtras", package: "swift-nio-extras")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")

let package = Package(
    name: "countersign",
    products: [
        .executable(name: "countersign", targets: ["countersign"]),
        .executable(name: "countersign-sandbox", targets: ["countersign-sandbox"]),
    ],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["YAML"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Layer 0: C
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Layer 1: one Swift face for each C library
        .target(name: "OpenSSL", dependencies: ["COpenSSL"], exclude: page, swiftSettings: boundary),
        .target(name: "HTTPFetch", dependencies: ["CCurl"], exclude: page, swiftSettings: boundary),
        .target(name: "Postgres", dependencies: ["CPostgres", log, metrics], exclude: page, swiftSettings: boundary),

        // Layer 2
        .target(name: "JOSE", dependencies: ["OpenSSL"], exclude: page, swiftSettings: habits),
        .target(name: "Accounts", exclude: page, swiftSettings: habits),
        .target(
            // `Migrations` is a link to the top level's, so that a new file there is noticed by the next build.
            name: "Migrator", dependencies: ["Postgres", "OpenSSL", log], exclude: ["Migrations"] + page,
            swiftSettings: habits, plugins: ["EmbedMigrationsPlugin"]),
        .plugin(
            name: "EmbedMigrationsPlugin", capability: .buildTool(), dependencies: ["embed-migrations"],
            path: "Sources/EmbedMigrationsPlugin"),
        .executableTarget(name: "embed-migrations", swiftSettings: habits),

        // Layer 3
        .target(
            name: "Providers", dependencies: ["JOSE", "HTTPFetch", "Accounts", "OpenSSL", log, metrics],
            exclude: page, swiftSettings: habits),
        .target(
            name: "Storage", dependencies: ["Postgres", "Accounts", "OpenSSL"], exclude: page, swiftSettings: habits),

        // Layer 4
        .target(
            name: "SignIn",
            dependencies: ["Providers", "Storage", "Accounts", "JOSE", "OpenSSL", "HTTPFetch", log, metrics],
            exclude: page, swiftSettings: habits),

        // Layer 5
        .target(
            name: "HTTPAPI",
            dependencies: [
                "SignIn", "Accounts", "JOSE", hummingbirdCore, nioCore, nioPosix, nioHTTP1, nioExtras, log, metrics,
                lifecycle,
            ],
            exclude: page, swiftSettings: habits),

        // Layer 6
        .executableTarget(
            name: "countersign",
            dependencies: [
                "HTTPAPI", "SignIn", "Storage", "Providers", "Migrator", "Accounts", "JOSE", "HTTPFetch", "Postgres",
                "OpenSSL", arguments, configuration, log, metrics, lifecycle, signals,
            ],
            exclude: page, swiftSettings: habits),
        .executableTarget(
            name: "countersign-sandbox",
            dependencies: [
                "JOSE", "OpenSSL", hummingbird, nioCore, nioPosix, nioHTTP1, httpTypes, arguments, log, lifecycle,
                signals,
            ],
            swiftSettings: habits),

        // Measured by Scripts/bench
        .executableTarget(
            name: "verify-bench", dependencies: ["JOSE", "OpenSSL"], path: "Benchmarks/Verify/Swift",
            swiftSettings: habits),

        .executableTarget(
            name: "postgres-bench", dependencies: ["Postgres", log], path: "Benchmarks/Postgres", exclude: ["run"],
            swiftSettings: habits),

        // Tests
        .target(
            name: "TestSupport",
            dependencies: ["OpenSSL", "JOSE", "Postgres", "Migrator", "Accounts", "HTTPFetch", log],
            path: "Tests/TestSupport", swiftSettings: habits),
        .testTarget(name: "OpenSSLTests", dependencies: ["OpenSSL", "COpenSSL"], swiftSettings: habits),
        .testTarget(name: "JOSETests", dependencies: ["JOSE", "OpenSSL", "TestSupport"], swiftSettings: habits),
        .testTarget(name: "HTTPFetchTests", dependencies: ["HTTPFetch", "TestSupport"], swiftSettings: habits),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", "TestSupport", log], swiftSettings: habits),
        .testTarget(
            name: "MigratorTests", dependencies: ["Migrator", "Postgres", "embed-migrations", "TestSupport", log],
            swiftSettings: habits),
        .testTarget(name: "AccountsTests", dependencies: ["Accounts"], swiftSettings: habits),
        .testTarget(
            name: "ProvidersTests",
            dependencies: ["Providers", "HTTPFetch", "JOSE", "OpenSSL", "Accounts", "TestSupport", log],
            swiftSettings: habits),
        .testTarget(
            name: "StorageTests", dependencies: ["Storage", "Accounts", "OpenSSL", "Postgres", "TestSupport"],
            swiftSettings: habits),
        .testTarget(
            name: "SignInTests",
            dependencies: [
                "SignIn", "Storage", "Providers", "Accounts", "JOSE", "OpenSSL", "Postgres", "HTTPFetch", "TestSupport",
                "countersign-sandbox", log,
            ],
            swiftSettings: habits),
        .testTarget(
            name: "HTTPAPITests",
            dependencies: [
                "HTTPAPI", "JOSE", "TestSupport", nioCore, nioPosix, nioHTTP1, nioEmbedded, log, metrics,
                metricsTestKit, lifecycle,
            ],
            swiftSettings: habits),
        .testTarget(
            name: "CountersignTests",
            dependencies: [
                "countersign", "TestSupport", "HTTPAPI", "HTTPFetch", "Accounts", "Migrator", "Postgres", "Providers",
                "Storage", log, metrics,
            ],
            swiftSettings: habits),
        .testTarget(
            name: "SandboxTests", dependencies: ["countersign-sandbox", "TestSupport", "JOSE", "OpenSSL", "HTTPFetch"],
            swiftSettings: habits),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "countersign", "countersign-sandbox", "HTTPAPI", "HTTPFetch", "JOSE", "Migrator", "OpenSSL", "Postgres",
                "Accounts", "SignIn", "Storage", "TestSupport", log,
            ],
            swiftSettings: habits),
    ]
)
