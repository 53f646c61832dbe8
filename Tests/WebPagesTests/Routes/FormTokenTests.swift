import Accounts
import HTTPAPI
import HTTPServer
import JOSE
import SignIn
import Testing

@testable import WebPages

/// The hidden field of forms, and what failures are called on pages.
@Suite struct FormTokenTests {
    @Test func `a token is of one secret, flow and action`() throws {
        let token = try FormToken.text(secret: "s", flow: "f", action: "/web/password")
        #expect(token.utf8.count == 43)
        #expect(try FormToken.accepts(token, secret: "s", flow: "f", action: "/web/password"))
        for (presented, secret, flow, action) in [
            (nil, "s", "f", "/web/password"), ("", "s", "f", "/web/password"), (token, "t", "f", "/web/password"),
            (token, "s", "g", "/web/password"), (token, "s", "f", "/web/cancel"),
            (token + "A", "s", "f", "/web/password"),
            (token, "s", "", "f|/web/password"),
        ] as [(String?, String, String, String)] {
            #expect(try !FormToken.accepts(presented, secret: secret, flow: flow, action: action))
        }
    }

    @Test func `a token that is about something begins with it, and is of nothing else`() throws {
        let account = try #require(AccountID("01a1fc41-9b43-7f32-8e73-0b16f91ee2fd"))
        let session = SessionID(uuid: account.uuid)
        func token(_ subject: FormSubject?) throws -> String {
            try FormToken.text(secret: "s", flow: "f", action: "/web/link/bind", about: subject)
        }
        let subjects: [FormSubject] = [
            .account(account), .session(session), .ticket(LinkTicketName(presented: "a")),
            .ticket(LinkTicketName(presented: "b")),
        ]
        for subject in subjects {
            let own = try token(subject)
            #expect(FormToken.subject(of: own) == subject)
            #expect(try FormToken.accepts(own, secret: "s", flow: "f", action: "/web/link/bind"))
            for other in subjects.map(Optional.some) + [nil] where other != subject {
                let foreign = try token(other).split(separator: ".").dropLast()
                let forged = (foreign + own.split(separator: ".").suffix(1)).joined(separator: ".")
                #expect(try !FormToken.accepts(forged, secret: "s", flow: "f", action: "/web/link/bind"))
            }
        }
        let plain = try token(nil)
        #expect(FormToken.subject(of: plain) == nil)
    }

    @Test func `each failure has its page`() {
        let cases: [(any Error & ProblemConvertible, FailurePage.Failure)] = [
            (SignInFailure.webFlowExpired, .flowExpired), (SignInFailure.webAnswerRefused, .answerRefused),
            (SignInFailure.webCookieMissing, .cookiesMissing),
            (SignInFailure.linkTicketExpired, .flowExpired), (SignInFailure.accountDisabled, .accountDisabled),
            (SignInFailure.rateLimited(.webFlowsPerNetwork, retryAfter: 9), .tooManyRequests),
            (SignInFailure.reauthenticationRequired, .reauthenticationRequired),
            (SignInFailure.credentialRejected(.expired, retryAfter: nil), .answerRefused),
            (SignInFailure.providerUnavailable(retryAfter: 5, reason: "a"), .unavailable),
            (SignInFailure.storageUnavailable(detail: "a"), .unavailable),
            (SignInFailure.fault(operation: "a"), .internalError), (SignInFailure.identityNotFound, .notFound),
            (PageRefusal(.unknownApp, Problem(.invalidRequest)), .unknownApp),
        ]
        for (error, failure) in cases { #expect(FailurePage.Failure(error, error.problem) == failure, "\(error)") }
        #expect(FailurePage.Failure(Problem(.forbidden), Problem(.forbidden)) == .formExpired)
        for code in Problem.Code.allCases {
            let failure = FailurePage.Failure(Problem(code), Problem(code))
            #expect((failure == .internalError) == (code == .internalError), "\(code)")
        }
    }
}
