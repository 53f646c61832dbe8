import Accounts
import Curl
import HTTPAPI
import JSON
import Postgres
import Storage
import Texts

/// The checks of account linking: the files by which phones know the app, and what people read before they agree.
extension Doctor {
    // MARK: - Association files

    /// Fetches the files as Apple's servers and Android do: from the public URL.
    @Sendable func appFlip() async -> [Finding] {
        guard let oauth = configuration.reloadable.oauth else { return [] }
        guard let files = oauth.associations else {
            return .ok(.appFlip, "is off: neither appFlip.appleAppIds nor appFlip.androidApps is set")
        }
        var findings: [Finding] = []
        for file in AssociationFiles.File.allCases where files.lists(file) {
            findings += await self.findings(on: file, of: files)
        }
        return findings
    }

    private func findings(on file: AssociationFiles.File, of files: AssociationFiles) async -> [Finding] {
        let url = configuration.server.publicURL + file.rawValue
        let response: FetchResponse
        do throws(FetchError) {
            response = try await fetcher.fetch(
                FetchRequest(url: url, timeout: .seconds(2), connectTimeout: .seconds(2)))
        } catch {
            return .unreached(.appFlip, url, error)
        }
        if let fault = Self.fault(of: response) {
            return .failure(
                .appFlip, "\(url) \(fault)",
                advice: "phones take the file by a plain 200 alone: let nothing before the service change that")
        }
        guard let document = try? JSONValue(parsing: response.body) else {
            return .failure(.appFlip, "\(url) is no JSON", advice: "see what answers there in the place of the service")
        }
        let lacking = files.lacking(file, in: document)
        guard lacking.isEmpty else {
            return lacking.map {
                .failure(
                    .appFlip, "\(url) lacks \($0)",
                    advice:
                        "restart what runs with older values, and see what answers there in the place of the service")
            }
        }
        guard response.body == files.content(of: file) else {
            return .warning(
                .appFlip, "\(url) has what is configured, and is not the file that this configuration makes",
                advice: "nothing to do if something before the service adds to it on purpose")
        }
        return .ok(.appFlip, "\(url) is the one that is configured")
    }

    /// Why no phone takes an answer, whatever its body.
    private static func fault(of response: FetchResponse) -> String? {
        guard !(300..<400).contains(response.status) else {
            return "is answered with a redirect (status \(response.status))"
        }
        guard response.status == 200 else { return "is answered with status \(response.status)" }
        guard let type = response.headers.first("Content-Type") else { return "comes without a Content-Type" }
        let mediaType = type.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        return mediaType == "application/json" ? nil : "comes as \(type.prefix(100)), which is not application/json"
    }

    // MARK: - Consent

    /// Compares the sentences with what the enabled clients can ask for.
    @Sendable func consentTexts() async -> [Finding] {
        guard let oauth = configuration.reloadable.oauth else {
            return .ok(.consentTexts, "nobody is asked: oauth.enabled is false")
        }
        return await withSchema(.consentTexts, "the clients couldn't be read") { database in
            unreadLanguages(oauth) + consent(oauth, of: try await enabledClients(in: database))
        }
    }

    private func enabledClients(in database: Database) async throws(PostgresError) -> [OAuthClient] {
        let store = OAuthClientStore(database: database)
        var clients: [OAuthClient] = []
        try await eachItem { cursor, limit throws(PostgresError) in
            try await store.list(after: cursor, limit: limit)
        } do: {
            if $0.status == .active { clients.append($0) }
        }
        return clients
    }

    private func consent(_ oauth: OAuthConfiguration, of clients: [OAuthClient]) -> [Finding] {
        guard !clients.isEmpty else { return .ok(.consentTexts, "nobody is asked: no client is enabled") }
        let scopes = oauth.scopes.all.filter { scope in
            clients.contains { $0.allowedScopes(of: oauth.scopes).contains(scope) }
        }
        let languages = oauth.languages
        let gaps = scopes.compactMap { scope -> Finding? in
            let missing =
                oauth.usesBuiltInTexts(for: scope)
                ? [] : languages.filter { oauth.scopeTexts[scope]?[$0.rawValue] == nil }
            guard !missing.isEmpty else { return nil }
            return .warning(
                .consentTexts, "the scope \(scope) has no sentence in \(missing.listed), and English stands there",
                advice: "add it to the file of oauth.scopeTextsPath")
        }
        guard gaps.isEmpty else { return gaps }
        let detail =
            "each scope of \(counted(clients.count, "enabled client")) has a sentence in \(languages.listed)"
        let others = Language.allCases.filter { !languages.contains($0) }
        guard !others.isEmpty, !scopes.allSatisfy(oauth.usesBuiltInTexts) else { return .ok(.consentTexts, detail) }
        return .ok(.consentTexts, detail + "; the pages in \(others.listed) have the English one")
    }

    private func unreadLanguages(_ oauth: OAuthConfiguration) -> [Finding] {
        let unread = Set(oauth.scopeTexts.values.flatMap(\.keys)).filter { Language(rawValue: $0) == nil }
        guard !unread.isEmpty else { return [] }
        return .warning(
            .consentTexts,
            "oauth.scopeTextsPath has sentences in \(unread.sorted().joined(separator: ", ")), and the pages don't",
            advice: "the languages of the pages are \(Language.allCases.listed)")
    }
}

extension AssociationFiles {
    /// Whether an app of this system is configured.
    fileprivate func lists(_ file: File) -> Bool {
        switch file {
        case .apple: !appleAppIDs.isEmpty
        case .android: !androidApps.isEmpty
        }
    }

    /// What is configured and not in a document.
    fileprivate func lacking(_ file: File, in document: JSONValue) -> [String] {
        switch file {
        case .apple: appleAppIDs.compactMap { lacking(appID: $0, in: document) }
        case .android: androidApps.compactMap { lacking($0, in: document) }
        }
    }

    private func lacking(appID: String, in document: JSONValue) -> String? {
        let details = (document["applinks"]?["details"]?.elements ?? []).filter {
            $0["appIDs"]?.hasElement(appID) == true
        }
        guard !details.isEmpty else { return "the app \(appID)" }
        let components = details.flatMap { $0["components"]?.elements ?? [] }
        return components.contains { $0["/"]?.isString(equalTo: path) == true }
            ? nil : "the path \(path) of the app \(appID)"
    }

    private func lacking(_ app: AndroidApp, in document: JSONValue) -> String? {
        let targets = (document.elements ?? []).compactMap { $0["target"] }.filter {
            $0["package_name"]?.isString(equalTo: app.package) == true
        }
        guard !targets.isEmpty else { return "the package \(app.package)" }
        return targets.contains { $0["sha256_cert_fingerprints"]?.hasElement(app.fingerprint) == true }
            ? nil : "the fingerprint \(app.fingerprint) of the package \(app.package)"
    }
}

extension JSONValue {
    fileprivate func hasElement(_ text: String) -> Bool { elements?.contains { $0.isString(equalTo: text) } ?? false }
}

extension OAuthConfiguration {
    /// The languages of the pages in which at least one sentence was written, and English.
    fileprivate var languages: [Language] {
        Language.allCases.filter { language in
            language == .english || scopeTexts.values.contains { $0[language.rawValue] != nil }
        }
    }

    /// Whether the pages have words of their own wherever the operator has none: an English sentence of the operator's
    /// takes their place in all languages.
    fileprivate func usesBuiltInTexts(for scope: OAuthScope) -> Bool {
        (scope == .profile || scope == .email) && scopeTexts[scope]?[Language.english.rawValue] == nil
    }
}

extension [Language] {
    fileprivate var listed: String { map(\.rawValue).joined(separator: ", ") }
}
