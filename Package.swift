// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6 mode, warnings are errors, imports internal unless they say otherwise.
let commonSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// The targets that call C also mark every unsafe expression.
let cBoundarySettings: [SwiftSetting] = commonSettings + [.strictMemorySafety()]

/// Each target has a page beside its code.
let readme = ["README.md"]

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
    // A target depends only on targets declared above it, and imports what it declares: Scripts/check-layers checks both.
    targets: [
        // Layer 0: C, and what everything may use
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "Primitives", exclude: readme, swiftSettings: cBoundarySettings),

        // Layer 1: one Swift face for each C library; formats
        .target(name: "OpenSSL", dependencies: ["COpenSSL"], exclude: readme, swiftSettings: cBoundarySettings),
        .target(
            name: "Curl", dependencies: ["CCurl", "Primitives"], exclude: readme, swiftSettings: cBoundarySettings),
        .target(
            name: "Postgres", dependencies: ["CPostgres", "Primitives", log, metrics], exclude: readme,
            swiftSettings: cBoundarySettings),
        .target(name: "JSON", dependencies: ["Primitives"], exclude: readme, swiftSettings: commonSettings),
        .target(name: "Prometheus", dependencies: [metrics], exclude: readme, swiftSettings: commonSettings),

        // Layer 2
        .target(
            name: "JOSE", dependencies: ["JSON", "OpenSSL", "Primitives"], exclude: readme,
            swiftSettings: commonSettings),
        .target(
            name: "KeyRing", dependencies: ["OpenSSL", "Primitives"], exclude: readme, swiftSettings: commonSettings),
        .target(name: "Accounts", dependencies: ["Primitives"], exclude: readme, swiftSettings: commonSettings),
        .target(
            name: "HTTPServer",
            dependencies: [
                "JSON", "Primitives", hummingbirdCore, nioCore, nioPosix, nioHTTP1, nioExtras, log, metrics, lifecycle,
            ],
            exclude: readme, swiftSettings: commonSettings),
        .executableTarget(name: "embed-migrations", exclude: readme, swiftSettings: commonSettings),
        .plugin(
            name: "EmbedMigrationsPlugin", capability: .buildTool(), dependencies: ["embed-migrations"],
            path: "Sources/EmbedMigrationsPlugin"),
        .target(
            // `Migrations` is a link to the top level's, so that a new file there is noticed by the next build.
            name: "Migrator", dependencies: ["Postgres", "OpenSSL", "Primitives", log],
            exclude: ["Migrations"] + readme, swiftSettings: commonSettings, plugins: ["EmbedMigrationsPlugin"]),

        // Layer 3
        .target(
            name: "Providers",
            dependencies: ["JOSE", "JSON", "Curl", "Accounts", "OpenSSL", "Primitives", log, metrics],
            exclude: readme, swiftSettings: commonSettings),
        .target(
            name: "Storage", dependencies: ["Postgres", "Accounts", "KeyRing", "OpenSSL", "Primitives"],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 4
        .target(
            name: "SignIn",
            dependencies: [
                "Providers", "Storage", "Accounts", "KeyRing", "JOSE", "JSON", "OpenSSL", "Curl", "Primitives", log,
                metrics,
            ],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 5
        .target(
            name: "HTTPAPI", dependencies: ["HTTPServer", "SignIn", "Accounts", "JOSE", "JSON", "Primitives", log],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 6
        .executableTarget(
            name: "countersign",
            dependencies: [
                "HTTPAPI", "HTTPServer", "SignIn", "Storage", "Providers", "Migrator", "Accounts", "KeyRing", "JOSE",
                "JSON", "Prometheus", "Curl", "Postgres", "OpenSSL", "Primitives", arguments, configuration, log,
                metrics, lifecycle, signals,
            ],
            exclude: readme, swiftSettings: commonSettings),
        .executableTarget(
            name: "countersign-sandbox",
            dependencies: [
                "JOSE", "JSON", "OpenSSL", "Primitives", hummingbird, nioCore, nioPosix, nioHTTP1, httpTypes, arguments,
                log, lifecycle, signals,
            ],
            exclude: readme, swiftSettings: commonSettings),

        // Measured by Scripts/bench
        .executableTarget(
            name: "verify-bench", dependencies: ["JOSE", "JSON", "OpenSSL", "Primitives"],
            path: "Benchmarks/Verify/Swift",
            swiftSettings: commonSettings),
        .executableTarget(
            name: "postgres-bench", dependencies: ["Postgres", log], path: "Benchmarks/Postgres", exclude: ["run"],
            swiftSettings: commonSettings),

        // Tests
        .target(
            name: "TestSupport",
            dependencies: ["OpenSSL", "JOSE", "JSON", "Primitives", "Postgres", "Migrator", "Accounts", "Curl", log],
            path: "Tests/TestSupport", swiftSettings: commonSettings),
        .testTarget(
            name: "PrimitivesTests", dependencies: ["Primitives", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(name: "OpenSSLTests", dependencies: ["OpenSSL", "COpenSSL"], swiftSettings: commonSettings),
        .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(
            name: "JOSETests", dependencies: ["JOSE", "JSON", "OpenSSL", "Primitives", "TestSupport"],
            swiftSettings: commonSettings),
        .testTarget(name: "CurlTests", dependencies: ["Curl", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(
            name: "PostgresTests", dependencies: ["Postgres", "TestSupport", log], swiftSettings: commonSettings),
        .testTarget(name: "PrometheusTests", dependencies: ["Prometheus", metrics], swiftSettings: commonSettings),
        .testTarget(name: "KeyRingTests", dependencies: ["KeyRing"], swiftSettings: commonSettings),
        .testTarget(
            name: "MigratorTests", dependencies: ["Migrator", "Postgres", "embed-migrations", "TestSupport", log],
            swiftSettings: commonSettings),
        .testTarget(name: "AccountsTests", dependencies: ["Accounts"], swiftSettings: commonSettings),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "HTTPServer", "JSON", "Primitives", "TestSupport", nioCore, nioPosix, nioHTTP1, nioEmbedded, log,
                metrics, metricsTestKit, lifecycle,
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "ProvidersTests",
            dependencies: [
                "Providers", "Curl", "JOSE", "JSON", "OpenSSL", "Accounts", "Primitives", "TestSupport", log,
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "StorageTests", dependencies: ["Storage", "Accounts", "Postgres", "TestSupport"],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SignInTests",
            dependencies: [
                "SignIn", "Storage", "Providers", "Accounts", "KeyRing", "JOSE", "JSON", "OpenSSL", "Postgres", "Curl",
                "Primitives", "TestSupport", "countersign-sandbox", log,
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "CountersignTests",
            dependencies: [
                "countersign", "TestSupport", "HTTPAPI", "HTTPServer", "Curl", "Accounts", "KeyRing", "Migrator",
                "OpenSSL", "Postgres", "Prometheus", "Providers", "Primitives", "Storage", log, lifecycle,
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SandboxTests",
            dependencies: ["countersign-sandbox", "TestSupport", "JOSE", "JSON", "Primitives", "OpenSSL", "Curl"],
            swiftSettings: commonSettings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "countersign", "countersign-sandbox", "HTTPAPI", "HTTPServer", "Curl", "JOSE", "JSON", "KeyRing",
                "Migrator", "OpenSSL", "Postgres", "Primitives", "Accounts", "SignIn", "Storage", "TestSupport", log,
            ],
            swiftSettings: commonSettings),
    ]
)
