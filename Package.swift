// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours: Swift 6 mode, imports internal unless they say otherwise.
let librarySettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Warnings are errors. Not for the library in the manifest, because Xcode suppresses a dependency's warnings and its
/// compiler refuses both at once; Scripts/check-apple compiles that one with warnings as errors.
let commonSettings: [SwiftSetting] = librarySettings + [.treatAllWarnings(as: .error)]

/// The targets that call C also mark every unsafe expression.
let cBoundarySettings: [SwiftSetting] = commonSettings + [.strictMemorySafety()]

/// Each target has a page beside its code.
let readme = ["README.md"]

/// Xcode makes an app's privacy report of it. Elsewhere it would only be a folder beside each program.
let privacyManifest = "PrivacyInfo.xcprivacy"
#if canImport(Darwin)
    let clientResources: [Resource] = [.copy(privacyManifest)]
    let clientExcluded = readme
#else
    let clientResources: [Resource] = []
    let clientExcluded = readme + [privacyManifest]
#endif

/// A product of another package. The trait is on unless a package that depends on this one names others: with `traits: []`
/// an app gets `CountersignClient` and fetches nothing else, because SwiftPM leaves out a package whose every use has a
/// condition that isn't met. Scripts/check-consumer shows it.
func product(_ name: String, of package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Service"]))
}

let log = product("Logging", of: "swift-log")
let metrics = product("Metrics", of: "swift-metrics")
let metricsTestKit = product("MetricsTestKit", of: "swift-metrics")
let lifecycle = product("ServiceLifecycle", of: "swift-service-lifecycle")
let signals = product("UnixSignals", of: "swift-service-lifecycle")
let hummingbird = product("Hummingbird", of: "hummingbird")
let hummingbirdCore = product("HummingbirdCore", of: "hummingbird")
let nioCore = product("NIOCore", of: "swift-nio")
let nioPosix = product("NIOPosix", of: "swift-nio")
let nioEmbedded = product("NIOEmbedded", of: "swift-nio")
let nioHTTP1 = product("NIOHTTP1", of: "swift-nio")
let nioExtras = product("NIOExtras", of: "swift-nio-extras")
let mustache = product("Mustache", of: "swift-mustache")
let httpTypes = product("HTTPTypes", of: "swift-http-types")
let arguments = product("ArgumentParser", of: "swift-argument-parser")
let configuration = product("Configuration", of: "swift-configuration")

let package = Package(
    name: "countersign",
    // Of the library. The service is for Linux; on macOS its dependencies ask for more.
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [
        .library(name: "CountersignClient", targets: ["CountersignClient"]),
        .executable(name: "countersign", targets: ["countersign"]),
        .executable(name: "countersign-sandbox", targets: ["countersign-sandbox"]),
    ],
    traits: [
        .trait(name: "Service", description: "The service, its sandbox and their tests, which need other packages."),
        .default(enabledTraits: ["Service"]),
    ],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
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
        // For apps: Foundation alone
        .target(
            name: "CountersignClient", exclude: clientExcluded, resources: clientResources,
            swiftSettings: librarySettings),

        // Layer 0: C, and what everything may use
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CCrypt", providers: [.apt(["libcrypt-dev"])]),
        .target(name: "Primitives", exclude: readme, swiftSettings: cBoundarySettings),
        .executableTarget(name: "embed-revision", exclude: readme, swiftSettings: commonSettings),
        .plugin(
            name: "EmbedRevisionPlugin", capability: .buildTool(), dependencies: ["embed-revision"],
            path: "Sources/EmbedRevisionPlugin"),
        .target(
            name: "Version", exclude: ["revision"] + readme, swiftSettings: commonSettings,
            plugins: ["EmbedRevisionPlugin"]),

        // Layer 1: one Swift face for each C library; formats
        .target(name: "OpenSSL", dependencies: ["COpenSSL"], exclude: readme, swiftSettings: cBoundarySettings),
        .target(name: "Crypt", dependencies: ["CCrypt"], exclude: readme, swiftSettings: cBoundarySettings),
        .target(
            name: "Curl", dependencies: ["CCurl", "Primitives"], exclude: readme, swiftSettings: cBoundarySettings),
        .target(
            name: "Postgres", dependencies: ["CPostgres", "Primitives", log, metrics], exclude: readme,
            swiftSettings: cBoundarySettings),
        .target(name: "JSON", dependencies: ["Primitives"], exclude: readme, swiftSettings: commonSettings),
        .target(name: "Prometheus", dependencies: [metrics], exclude: readme, swiftSettings: commonSettings),
        .executableTarget(name: "embed-texts", dependencies: ["JSON"], exclude: readme, swiftSettings: commonSettings),
        .plugin(
            name: "EmbedTextsPlugin", capability: .buildTool(), dependencies: ["embed-texts"],
            path: "Sources/EmbedTextsPlugin"),
        .target(
            name: "Texts", exclude: ["Languages"] + readme, swiftSettings: commonSettings,
            plugins: ["EmbedTextsPlugin"]),

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
            name: "Storage", dependencies: ["Postgres", "Accounts", "KeyRing", "JSON", "OpenSSL", "Primitives"],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 4
        .target(
            name: "SignIn",
            dependencies: [
                "Providers", "Storage", "Accounts", "Texts", "KeyRing", "JOSE", "JSON", "OpenSSL", "Crypt", "Curl",
                "Primitives", log, metrics,
            ],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 5
        .target(
            name: "OAuthServer",
            dependencies: [
                "SignIn", "Providers", "Storage", "Accounts", "KeyRing", "JOSE", "OpenSSL", "Primitives", log,
            ],
            exclude: readme, swiftSettings: commonSettings),

        .target(
            name: "AccountImport", dependencies: ["Storage", "Postgres", "Accounts", "JSON", "Primitives"],
            exclude: readme, swiftSettings: commonSettings),

        .target(
            name: "Webhooks",
            dependencies: [
                "Storage", "Accounts", "KeyRing", "JSON", "OpenSSL", "Curl", "Primitives", log, metrics,
            ],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 6: what administrators may do, once, for API, console and commands
        .target(
            name: "Administration",
            dependencies: [
                "OAuthServer", "SignIn", "Webhooks", "Storage", "Providers", "Postgres", "Curl", "Accounts", "KeyRing",
                "JOSE", "JSON", "OpenSSL", "Primitives", log,
            ],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 7
        .target(
            name: "HTTPAPI",
            dependencies: [
                "Administration", "Webhooks", "HTTPServer", "OAuthServer", "SignIn", "Accounts", "JOSE", "JSON",
                "Primitives", log,
            ],
            exclude: readme, swiftSettings: commonSettings),

        .target(
            name: "WebPages",
            dependencies: [
                "Administration", "Webhooks", "HTTPAPI", "HTTPServer", "OAuthServer", "SignIn", "Accounts", "Texts",
                "OpenSSL",
                "Primitives", mustache,
            ],
            exclude: readme, swiftSettings: commonSettings),

        // Layer 8
        .executableTarget(
            name: "countersign",
            dependencies: [
                "WebPages", "HTTPAPI", "Administration", "Webhooks", "AccountImport", "HTTPServer", "OAuthServer",
                "SignIn", "Storage", "Providers", "Migrator",
                "Accounts",
                "KeyRing", "JOSE", "JSON", "Prometheus", "Curl", "Postgres", "OpenSSL", "Primitives", "Texts",
                "Version", arguments, configuration, log, metrics, lifecycle, signals,
            ],
            exclude: readme, swiftSettings: commonSettings),
        .executableTarget(
            name: "countersign-sandbox",
            dependencies: [
                "Curl", "JOSE", "JSON", "OpenSSL", "Primitives", hummingbird, nioCore, nioPosix, nioHTTP1, httpTypes,
                arguments, log, lifecycle, signals,
            ],
            exclude: readme, swiftSettings: commonSettings),

        // Measured by Scripts/bench
        .executableTarget(
            name: "verify-bench", dependencies: ["JOSE", "JSON", "OpenSSL", "Primitives"],
            path: "Benchmarks/Verify/Swift",
            swiftSettings: commonSettings),
        .executableTarget(
            name: "postgres-bench", dependencies: ["Postgres", log], path: "Benchmarks/Postgres", exclude: ["run.sh"],
            swiftSettings: commonSettings),

        // Tests
        .target(
            name: "TestSupport",
            dependencies: ["OpenSSL", "JOSE", "JSON", "Primitives", "Postgres", "Migrator", "Accounts", "Curl", log],
            path: "Tests/TestSupport", exclude: readme, swiftSettings: commonSettings),
        .testTarget(
            name: "CountersignClientTests", dependencies: ["CountersignClient"],
            exclude: ["Fixtures", "AcceptanceLists.md"], swiftSettings: commonSettings),
        .testTarget(
            name: "PrimitivesTests", dependencies: ["Primitives", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(
            name: "OpenSSLTests", dependencies: ["OpenSSL", "COpenSSL", "Primitives", "TestSupport"], exclude: ["Keys"],
            swiftSettings: commonSettings),
        .testTarget(name: "JSONTests", dependencies: ["JSON", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(
            name: "JOSETests", dependencies: ["JOSE", "JSON", "OpenSSL", "Primitives", "TestSupport"],
            swiftSettings: commonSettings),
        .testTarget(name: "CurlTests", dependencies: ["Curl", "TestSupport"], swiftSettings: commonSettings),
        .testTarget(
            name: "PostgresTests", dependencies: ["Postgres", "TestSupport", log], swiftSettings: commonSettings),
        .testTarget(
            name: "TextsTests", dependencies: ["Texts", "TestSupport", "embed-texts"], swiftSettings: commonSettings),
        .testTarget(name: "PrometheusTests", dependencies: ["Prometheus", metrics], swiftSettings: commonSettings),
        .testTarget(name: "KeyRingTests", dependencies: ["KeyRing"], swiftSettings: commonSettings),
        .testTarget(
            name: "MigratorTests", dependencies: ["Migrator", "Postgres", "embed-migrations", "TestSupport"],
            exclude: ["Fixtures"], swiftSettings: commonSettings),
        .testTarget(
            name: "AccountsTests", dependencies: ["Accounts", "TestSupport"],
            exclude: [
                "OAuth/requests.tsv", "Passwords/capped-hashes.tsv", "Web/compared-uris.tsv", "Web/refused-uris.tsv",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "HTTPServer", "JSON", "Primitives", "TestSupport", nioCore, nioPosix, nioHTTP1, nioEmbedded, log,
                metrics, metricsTestKit, lifecycle,
            ],
            exclude: ["Fixtures"], swiftSettings: commonSettings),
        .testTarget(
            name: "ProvidersTests",
            dependencies: [
                "Providers", "Curl", "JOSE", "JSON", "OpenSSL", "Accounts", "Primitives", "TestSupport", log,
            ],
            exclude: ["Fixtures"], swiftSettings: commonSettings),
        .testTarget(
            name: "StorageTests", dependencies: ["Storage", "Accounts", "KeyRing", "Postgres", "TestSupport"],
            exclude: [
                "Accounts/foreign-hashes.tsv", "Administration/AccountCrowd.sql", "Audit/PartitionShape.sql",
                "Feed/FeedCoverage.json", "Linking/EmailCodeRows.sql",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SignInTests",
            dependencies: [
                "Administration", "OAuthServer", "SignIn", "Storage", "Providers", "Accounts", "KeyRing", "JOSE",
                "JSON", "OpenSSL", "Texts",
                "Postgres", "Curl", "Primitives", "TestSupport", "countersign-sandbox", log,
            ],
            exclude: [
                "Account/AccountEvents.json", "Linking/ContestedAddress.sql", "Mail/TemplateFaults.json",
                "RandomWalk/AllowedFailures.tsv", "RandomWalk/SQL", "Support/RecordedPerson.sql", "Support/State.sql",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "AccountImportTests", dependencies: ["AccountImport", "Accounts", "TestSupport"],
            exclude: ["Exports", "MalformedRows.tsv"], swiftSettings: commonSettings),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Webhooks", "Storage", "Accounts", "Curl", "JSON", "KeyRing", "OpenSSL", "Postgres", "Primitives",
                "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "AdministrationTests", dependencies: ["Administration", "Accounts"], swiftSettings: commonSettings),
        .testTarget(
            name: "OAuthServerTests",
            dependencies: ["OAuthServer", "Accounts", "KeyRing"],
            swiftSettings: commonSettings),
        .testTarget(
            name: "WebPagesTests",
            dependencies: [
                "WebPages", "HTTPAPI", "HTTPServer", "SignIn", "Storage", "Providers", "Accounts", "Texts",
                "JOSE", "KeyRing",
                "Curl", "Postgres", "OpenSSL", "Primitives", "TestSupport", lifecycle,
            ],
            exclude: ["Routes/BrowserNames.tsv", "Console/ConsoleHosts.json"], swiftSettings: commonSettings),
        .testTarget(
            name: "CountersignTests",
            dependencies: [
                "countersign", "embed-revision", "TestSupport", "HTTPAPI", "HTTPServer", "Curl", "Accounts", "JSON",
                "KeyRing", "Migrator", "Webhooks",
                "OpenSSL", "Postgres", "Prometheus", "Providers", "Primitives", "Storage", "WebPages", log, lifecycle,
                arguments,
            ],
            exclude: ["OldRows", "EmailProofMigration.json", "ImportCommand.ndjson", "Fixtures"],
            swiftSettings: commonSettings),
        .testTarget(
            name: "SandboxTests",
            dependencies: ["countersign-sandbox", "TestSupport", "JOSE", "JSON", "Primitives", "OpenSSL", "Curl"],
            exclude: ["Fixtures"], swiftSettings: commonSettings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Administration", "countersign", "countersign-sandbox", "CountersignClient", "HTTPAPI", "HTTPServer",
                "Curl", "JOSE",
                "JSON",
                "KeyRing", "Migrator", "OAuthServer", "OpenSSL", "Postgres", "Primitives", "Accounts", "SignIn",
                "Storage",
                "TestSupport", log,
            ],
            exclude: ["Fixtures"], swiftSettings: commonSettings),
    ]
)
