import Accounts
import Curl
import JSON
import Primitives

/// The checks of the mail server and of the public URL.
extension Doctor {
    /// Greets the mail server, authenticates, and sends nothing.
    @Sendable func mail() async -> [Finding] {
        guard let mail = configuration.mail else { return .ok(.mail, "is off: mail.smtpUrl is not set") }
        var settings = SMTPTransport.Configuration()
        settings.connectTimeout = .seconds(3)
        settings.timeout = .seconds(4)
        do throws(MailTransportError) {
            try await SMTPTransport(server: mail.server, configuration: settings).greet(for: mail.from.text)
            return .ok(.mail, "\(mail.server) greets this machine")
        } catch {
            if error == MailTransportError(.notAuthenticated) {
                return .failure(
                    .mail, "\(mail.server) offers no authentication, and mail.smtpUrl has user and password",
                    advice: "see mail.smtpUrl: name the port for users, as 587, or leave user and password away")
            }
            if error.code == .internationalAddress {
                return .failure(
                    .mail, "\(mail.server) offers no SMTPUTF8, without which it gets no mail from \(mail.from.text)",
                    advice: "set mail.from to an address in ASCII, or have SMTPUTF8 switched on there")
            }
            let reply = error.reply.map { ", reply \($0)" } ?? ""
            return .failure(
                .mail, "\(mail.server) can't be used (\(error.code.rawValue)\(reply))",
                advice: "see mail.smtpUrl: host, port, user and password, and whether the server offers STARTTLS")
        }
    }

    @Sendable func publicURL() async -> [Finding] {
        let (url, issuer) = (configuration.server.publicURL, configuration.tokens.issuer)
        let address = WebAddress(url, schemes: ["https", "http"])
        guard address?.scheme == "https" || address?.isLoopback == true else {
            return .warning(
                .publicURL, "\(url) is not https", advice: "let a proxy end TLS, and set server.publicUrl to its URL")
        }
        let document = "\(url)/.well-known/openid-configuration"
        let response: FetchResponse
        do throws(FetchError) {
            response = try await fetcher.fetch(FetchRequest(url: document, timeout: .seconds(4)))
        } catch {
            return .unreached(.publicURL, document, error)
        }
        guard response.status == 200, let members = try? JSONValue(parsing: response.body),
            let reported = members["issuer"]?.string
        else {
            return .failure(
                .publicURL, "\(document) is not this service's (status \(response.status))",
                advice: "see server.publicUrl, and where the proxy sends its requests")
        }
        guard reported.hasSameBytes(as: issuer) else {
            return .failure(
                .publicURL, "what answers at \(url) is another issuer than tokens.issuer",
                advice: "see server.publicUrl and tokens.issuer, and restart what runs with older ones")
        }
        guard issuer.hasSameBytes(as: url) else {
            return .warning(
                .publicURL, "tokens.issuer is not server.publicUrl: verifiers don't find the keys below the issuer",
                advice: "leave tokens.issuer away, or see that its URL leads here")
        }
        return .ok(.publicURL, "\(url) is this service's")
    }
}
