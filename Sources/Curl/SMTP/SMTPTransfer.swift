import CCurl
import Glibc

/// One mail in libcurl, and what its server has replied so far. Used by one thread alone.
@safe
final class SMTPTransfer {
    typealias Outcome = Result<Void, MailTransportError>

    private let easy: EasyHandle
    // libcurl reads it while the transfer runs, no longer when its handle is cleaned up.
    private let recipients: TextList

    private let content: [UInt8]
    private var bytesOffered = 0
    /// When the message has to be offered.
    private let deadline: ContinuousClock.Instant
    private let needsUTF8: Bool
    private var offersUTF8 = false
    /// What the server has taken since its greeting, or since TLS began: EHLO or HELO, MAIL, RCPT.
    private var commandsTaken = 0
    /// The first line of the reply by which RCPT was put off.
    private var postponement: [UInt8] = []
    /// Whether the server has to accept user and password, and whether it has.
    private let needsLogin: Bool
    private var isLoggedIn = false
    /// Why this side aborted the transfer, if it did.
    private var refusal: MailTransportError.Code?

    /// - Parameters:
    ///   - mail: nil to connect, authenticate and disconnect without a mail.
    ///   - addresses: those that the server has to be able to take.
    init(
        _ mail: OutgoingMail?, of addresses: [String], to server: SMTPServer,
        configuration: SMTPTransport.Configuration
    ) throws(FetchError) {
        content = mail?.content ?? []
        deadline = .now.advanced(by: configuration.timeout)
        needsLogin = !server.user.isEmpty
        needsUTF8 = !addresses.joined().utf8.allSatisfy { $0 < 0x80 }
        var list = TextList()
        if let mail { try list.append(mail.recipient) }
        recipients = list
        easy = try EasyHandle()

        try restrict(server, configuration)
        try easy.set(CURLOPT_URL, server.url)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds: configuration.connectTimeout)
        if let mail {
            // Of all of it. Before the message is offered `checkTime` ends it sooner.
            try easy.set(CURLOPT_TIMEOUT_MS, milliseconds: configuration.timeout + configuration.answerTimeout)
            try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, Int(configuration.answerTimeout.components.seconds) + 1)
            try easy.set(CURLOPT_MAIL_FROM, mail.sender)
            try easy.set(CURLOPT_MAIL_RCPT, recipients)
            try easy.set(CURLOPT_UPLOAD, 1)
            try easy.set(CURLOPT_INFILESIZE_LARGE, offset: content.count)
        } else {
            try easy.set(CURLOPT_TIMEOUT_MS, milliseconds: configuration.timeout)
            try easy.set(CURLOPT_CUSTOMREQUEST, "NOOP")
        }
        try authenticate(server)
        try installCallbacks()
    }

    // MARK: Set-up

    private func restrict(_ server: SMTPServer, _ configuration: SMTPTransport.Configuration) throws(FetchError) {
        try easy.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        try easy.isolate()
        let level = server.security == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
        try easy.set(CURLOPT_USE_SSL, Int(level.rawValue))
        try easy.verifyPeer(trusting: configuration.caBundlePath)
    }

    /// Allows only the two mechanisms that need nothing but the password. By default libcurl would also authenticate
    /// with a Kerberos ticket or NTLM hash of the machine.
    private func authenticate(_ server: SMTPServer) throws(FetchError) {
        guard needsLogin else { return }
        try easy.set(CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN")
        try easy.set(CURLOPT_USERNAME, server.user)
        try easy.set(CURLOPT_PASSWORD, server.password)
    }

    /// The context is unretained: this object holds the handle that calls back.
    private func installCallbacks() throws(FetchError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try unsafe easy.set(CURLOPT_READDATA, context: context)
        try unsafe easy.set(CURLOPT_HEADERDATA, context: context)
        try unsafe easy.set(CURLOPT_READFUNCTION) { bytes, size, count, context in
            unsafe SMTPTransfer.from(context).offer(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        }
        try unsafe easy.set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            unsafe SMTPTransfer.from(context).takeReply(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        try unsafe easy.set(CURLOPT_XFERINFODATA, context: context)
        try unsafe easy.set(progressCallback: { context, _, _, _, _ in
            unsafe SMTPTransfer.from(context).checkTime()
        })
        // Nothing but replies is received; by default libcurl would write it to standard output.
        try unsafe easy.set(CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count }
    }

    @unsafe
    private static func from(_ context: UnsafeMutableRawPointer?) -> SMTPTransfer {
        guard let context = unsafe context else { fatalError("libcurl lost the context that it was given") }
        return unsafe Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: libcurl's callbacks

    /// libcurl doubles the dots that begin a line (RFC 5321 §4.5.2) and adds the one that ends the message.
    @unsafe
    private func offer(_ space: UnsafeMutableRawBufferPointer) -> Int {
        let slice = content[bytesOffered...].prefix(space.count)
        unsafe space.copyBytes(from: slice)
        bytesOffered += slice.count
        return slice.count
    }

    /// One line of a reply. A count that differs from what was offered makes libcurl abort.
    @unsafe
    private func takeReply(_ line: UnsafeRawBufferPointer) -> Int {
        let bytes = unsafe Array(line)
        let text = String(decoding: bytes.dropFirst(4).filter { $0 > 0x20 }, as: UTF8.self)
        switch String(decoding: bytes.prefix(3), as: UTF8.self) {
        case "220":
            // The greeting, or the reply to STARTTLS: what was offered before no longer counts (RFC 3207 §4.2).
            offersUTF8 = false
            commandsTaken = 0
        case "250", "251":
            if text.isEqualWithoutCase(to: "SMTPUTF8") { offersUTF8 = true }
            // All lines of a reply but the last have a hyphen (RFC 5321 §4.2.1).
            if bytes.dropFirst(3).first != UInt8(ascii: "-") { commandsTaken += 1 }
            guard commandsTaken < 2 || objection == nil else {
                refusal = objection
                return 0
            }
        case "235":
            isLoggedIn = true
        default:
            if postponement.isEmpty, commandsTaken == 2, bytes.first == UInt8(ascii: "4") { postponement = bytes }
        }
        return line.count
    }

    /// Why a server that has taken the command behind EHLO is to get no more: libcurl goes on without authentication where
    /// none is offered, and sends any address to any server.
    private var objection: MailTransportError.Code? {
        if needsLogin, !isLoggedIn { return .notAuthenticated }
        return needsUTF8 && !offersUTF8 ? .internationalAddress : nil
    }

    /// Also while libcurl waits for the reply to QUIT, after a refusal that stays the outcome.
    private func checkTime() -> Int32 { !isOffered && deadline <= .now ? 1 : 0 }

    // MARK: The transfer

    /// Whether libcurl has all of the message, so that the server may have it too.
    private var isOffered: Bool { bytesOffered > 0 && bytesOffered == content.count }

    func run() -> Outcome {
        let status = easy.perform()
        guard status != CURLE_OK else { return .success(()) }
        let detail = unsafe String(cString: curl_easy_strerror(status))
        if let refusal { return .failure(MailTransportError(refusal, detail: detail)) }
        let reply = easy.number(CURLINFO_RESPONSE_CODE)
        let code = code(of: status, reply: reply)
        let isReply = [.refused, .postponed, .recipientPostponed, .notAuthenticated, .notServed].contains(code)
        return .failure(MailTransportError(code, reply: isReply && 400..<600 ~= reply ? reply : nil, detail: detail))
    }

    private func code(of status: CURLcode, reply: Int) -> MailTransportError.Code {
        switch status {
        case CURLE_COULDNT_RESOLVE_HOST: return .resolve
        case CURLE_COULDNT_CONNECT: return .connect
        case CURLE_OPERATION_TIMEDOUT: return isOffered ? .timedOutAfterData : .timedOut
        case CURLE_ABORTED_BY_CALLBACK: return .timedOut
        case CURLE_LOGIN_DENIED: return .notAuthenticated
        case CURLE_REMOTE_ACCESS_DENIED: return .notServed
        case CURLE_USE_SSL_FAILED, CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            return .tls
        // For a refused command of the envelope, and for a lost connection. A server that requires authentication first
        // (RFC 4954 §6) does not refuse the mail.
        case CURLE_SEND_ERROR where [530, 534, 535, 538].contains(reply): return .notAuthenticated
        case CURLE_SEND_ERROR where reply >= 500 && needsLogin && !isLoggedIn: return .notAuthenticated
        case CURLE_SEND_ERROR
        where commandsTaken == 2 && EnhancedStatus.postponesRecipient(reply: reply, line: postponement):
            return .recipientPostponed
        case CURLE_SEND_ERROR where reply >= 400: return reply < 500 ? .postponed : .refused
        // For a refused message, and for a refused or malformed greeting.
        case CURLE_WEIRD_SERVER_REPLY where reply >= 400:
            guard bytesOffered > 0 else { return .notServed }
            return reply < 500 ? .postponed : .refused
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: return .closed
        default: return .other
        }
    }

    /// Ends the connection, if one is left. QUIT is sent (RFC 5321 §4.1.1.10), but libcurl would wait two minutes for
    /// the reply to it: shutting the socket down for reading ends that wait.
    func hangUp() { if let socket = easy.socket { shutdown(socket, Int32(SHUT_RD)) } }
}
