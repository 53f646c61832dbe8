import OpenSSL
import Providers
import TestSupport
import Testing

@Suite struct GoogleServiceAccountTests {
    @Test func `The console's file is read, its line breaks and its other members too`() throws {
        let account = try GoogleServiceAccount(parsing: try ServiceAccountFile.members.bytes)
        #expect(account.email == ServiceAccountFile.email)
        #expect(account.keyID == ServiceAccountFile.keyID)
        #expect("\(account)" == "GoogleServiceAccount(\(ServiceAccountFile.email), key \(ServiceAccountFile.keyID))")
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let member: String
        let value: TokenMint.Literal?
        let fault: GoogleServiceAccount.Fault

        init(_ member: String, _ value: TokenMint.Literal?, _ fault: GoogleServiceAccount.Fault) {
            self.member = member
            self.value = value
            self.fault = fault
        }

        var testDescription: String { "\(member): \(value?.text ?? "absent")" }
    }

    @Test(arguments: [
        Fault("type", nil, .notServiceAccount), Fault("type", "authorized_user", .notServiceAccount),
        Fault("type", 1, .notServiceAccount), Fault("client_email", nil, .missing(member: "client_email")),
        Fault("client_email", "", .missing(member: "client_email")),
        Fault("client_email", ["a@b"], .missing(member: "client_email")),
        Fault("client_email", .raw(#""a@b\n""#), .missing(member: "client_email")),
        Fault("private_key_id", nil, .missing(member: "private_key_id")),
        Fault("private_key_id", "k é", .missing(member: "private_key_id")),
        Fault("private_key_id", .string(String(repeating: "k", count: 256)), .missing(member: "private_key_id")),
        Fault("private_key", nil, .missing(member: "private_key")),
        Fault("private_key", .null, .missing(member: "private_key")), Fault("private_key", "canary", .unusableKey),
    ])
    func `A file with a fault in it is refused by the member's name`(_ fault: Fault) throws {
        let file = try ServiceAccountFile.members.with(fault.member, fault.value).bytes
        #expect(throws: fault.fault) { try GoogleServiceAccount(parsing: file) }
    }

    @Test func `A key on a curve is none of a service account's`() throws {
        let pem = String(decoding: try TokenMint.shared.p256.pem(), as: UTF8.self)
        let file = try ServiceAccountFile.members.with("private_key", .string(pem)).bytes
        #expect(throws: GoogleServiceAccount.Fault.unusableKey) { try GoogleServiceAccount(parsing: file) }
    }

    @Test(arguments: ["", "[]", "-----BEGIN PRIVATE KEY-----", #"{"type":"service_account""#])
    func `What is no JSON object is refused as that`(_ text: String) {
        #expect(throws: GoogleServiceAccount.Fault.notJSON) { try GoogleServiceAccount(parsing: Array(text.utf8)) }
    }

    @Test func `Of two members of one name neither is believed`() throws {
        var members = try ServiceAccountFile.members
        members.append("client_email", "evil@evil.example")
        let file = members.bytes
        #expect(throws: GoogleServiceAccount.Fault.notJSON) { try GoogleServiceAccount(parsing: file) }
    }
}
