import Foundation
import Testing

@testable import CountersignClient

@Suite struct SignInFlowTests {
    private let ticket: LinkTicket
    private let shown: LinkTicket
    private let account: ClientAccount

    init() throws {
        ticket = try LinkTests.ticket()
        shown = try LinkTests.ticket(holder: LinkTests.holder)
        account = try #require(JSONText.decode(AccountWire.self, from: Data(Fixture.account.utf8))).account
    }

    private func flow(_ events: SignInFlow.Event...) -> SignInFlow { flow(events) }

    private func flow(_ events: [SignInFlow.Event], from start: SignInFlow = SignInFlow()) -> SignInFlow {
        var flow = start
        for event in events {
            let isTaken = flow.apply(event)
            #expect(isTaken, "\(event)")
        }
        return flow
    }

    @Test func `somebody known is signed in, and out again`() {
        #expect(flow(.begin).step == .verifying)
        #expect(flow(.begin).isWaiting)
        #expect(flow(.begin, .signIn(.signedIn(account))).step == .signedIn(account))
        #expect(flow(.begin, .signIn(.signedIn(account)), .signedOut).step == .idle)
    }

    @Test func `somebody new creates an account`() {
        let choosing = flow(.begin, .signIn(.linkRequired(ticket)))
        #expect(choosing.step == .choosing(ticket) && choosing.ticket == ticket && !choosing.isWaiting)
        #expect(choosing == SignInFlow(ticket))
        #expect(flow(.begin, .signIn(.linkRequired(ticket)), .create).step == .creating(ticket))
        #expect(flow(.begin, .signIn(.linkRequired(ticket)), .create, .created(account)).step == .signedIn(account))
    }

    @Test func `binding may show a holder, or a conflict that is replaced or kept`() {
        let binding = flow(.begin, .signIn(.linkRequired(ticket)), .bind)
        #expect(binding.step == .binding(ticket))
        for (events, step) in [
            ([SignInFlow.Event.bound(.signedIn(account))], SignInFlow.Step.signedIn(account)),
            ([.bound(.holder(shown))], .choosing(shown)),
            ([.bound(.conflict(maskedEmail: "k"))], .conflict(ticket, maskedEmail: "k")),
            ([.bound(.conflict(maskedEmail: "k")), .keep], .choosing(ticket)),
            ([.bound(.conflict(maskedEmail: "k")), .replace], .replacing(ticket, maskedEmail: "k")),
            ([.bound(.conflict(maskedEmail: "k")), .replace, .bound(.signedIn(account))], .signedIn(account)),
            ([.bound(.conflict(maskedEmail: "k")), .abandon], .abandoned), ([.abandon], .abandoned),
        ] { #expect(flow(events, from: binding).step == step) }
    }

    @Test func `a failure leads back to where the person can choose`() {
        let error = SessionError.refused(code: "invalid_credentials", status: 401)
        let conflict = SignInFlow.Event.bound(.conflict(maskedEmail: nil))
        for (flow, step) in [
            (flow(.begin), SignInFlow.Step.idle),
            (flow(.begin, .signIn(.linkRequired(ticket)), .create), .choosing(ticket)),
            (flow(.begin, .signIn(.linkRequired(ticket)), .bind), .choosing(ticket)),
            (
                flow(.begin, .signIn(.linkRequired(ticket)), .bind, conflict, .replace),
                .conflict(ticket, maskedEmail: nil)
            ),
        ] {
            var failed = flow
            let isTaken1 = failed.apply(.failed(error))
            #expect(isTaken1)
            #expect(failed.step == step && failed.problem == error)
            // The next step is about something else.
            failed.apply(step == .idle ? .begin : .abandon)
            #expect(failed.problem == nil)
        }
    }

    @Test(arguments: [
        SessionError.transient(retryAfter: nil), .transient(retryAfter: 3, requestID: "r"), .cancelled,
        .storage("the store failed"),
    ])
    func `a call with the ticket that may have been done leads back to the start, and a sign-in does not`(
        _ error: SessionError
    ) {
        let choosing: [SignInFlow.Event] = [.begin, .signIn(.linkRequired(ticket))]
        let conflict: [SignInFlow.Event] = [.bind, .bound(.conflict(maskedEmail: nil)), .replace]
        let calls: [[SignInFlow.Event]] = [[.create], [.bind], conflict, [.begin, .signIn(.signedIn(account)), .bind]]
        for events in calls {
            let failed = flow(choosing + events + [.failed(error)])
            #expect(failed.step == .idle && failed.ticket == nil)
            #expect(failed.problem == (error == .cancelled ? nil : error))
        }
        #expect(flow(.begin, .failed(error)).step == .idle)
        // The ticket was not sent.
        #expect(flow(choosing + [.begin, .failed(error)]).step == .choosing(ticket))
    }

    @Test func `who signs in to prove an account keeps the ticket`() {
        let proving = flow(.begin, .signIn(.linkRequired(ticket)), .begin)
        #expect(proving.step == .verifying && proving.ticket == ticket)
        var failed = proving
        failed.apply(.failed(.refused(code: "invalid_credentials", status: 401)))
        #expect(failed.step == .choosing(ticket) && failed.problem != nil)
        let signedIn = SignInFlow.Event.signIn(.signedIn(account))
        let proven = flow(.begin, .signIn(.linkRequired(ticket)), .begin, signedIn)
        #expect(proven.step == .signedIn(account) && proven.ticket == ticket)
        let cases: [([SignInFlow.Event], SignInFlow.Step, LinkTicket?)] = [
            ([.bind], .binding(ticket), ticket), ([.bind, .bound(.signedIn(account))], .signedIn(account), nil),
            ([.bind, .failed(.noSession)], .choosing(ticket), ticket), ([.abandon], .signedIn(account), nil),
            // It was the wrong account.
            ([.begin], .verifying, ticket), ([.signedOut], .choosing(ticket), ticket),
            ([.time(ticket.expiresAt)], .signedIn(account), nil),
            ([.begin, .signIn(.linkRequired(shown))], .choosing(shown), shown),
        ]
        for (events, step, kept) in cases {
            let flow = flow(events, from: proven)
            #expect(flow.step == step && flow.ticket == kept)
        }
    }

    @Test(arguments: ["link_ticket_expired", "identity_already_linked"])
    func `a ticket that is used up leads back to the start`(_ code: String) {
        let error = SessionError.refused(code: code, status: 410)
        for event in [SignInFlow.Event.create, .bind] {
            var flow = flow(.begin, .signIn(.linkRequired(ticket)), event)
            flow.apply(.failed(error))
            #expect(flow.step == .idle && flow.problem == error)
        }
    }

    @Test func `a ticket expires by the clock, but not under a call`() {
        let end = ticket.expiresAt
        var choosing = flow(.begin, .signIn(.linkRequired(ticket)))
        let isTaken2 = choosing.apply(.time(end.addingTimeInterval(-1)))
        #expect(!isTaken2)
        var creating = choosing
        creating.apply(.create)
        let isTaken3 = creating.apply(.time(end))
        #expect(!isTaken3)
        let isTaken4 = choosing.apply(.time(end))
        #expect(isTaken4)
        #expect(choosing.step == .idle && choosing.problem != nil)
        var conflict = flow(.begin, .signIn(.linkRequired(ticket)), .bind, .bound(.conflict(maskedEmail: nil)))
        let isTaken5 = conflict.apply(.time(end))
        #expect(isTaken5)
        #expect(conflict.step == .idle)
    }

    @Test func `an event of another step changes nothing`() {
        let all: [SignInFlow.Event] = [
            .begin, .signIn(.signedIn(account)), .signIn(.linkRequired(ticket)), .create, .bind, .replace, .keep,
            .created(account), .bound(.signedIn(account)), .bound(.holder(shown)), .bound(.conflict(maskedEmail: nil)),
            .failed(.noSession), .abandon, .time(ticket.expiresAt), .signedOut,
        ]
        let conflict = SignInFlow.Event.bound(.conflict(maskedEmail: nil))
        // The events that count, by their places above.
        let steps: [(SignInFlow, Set<Int>)] = [
            (flow(), [0]), (flow(.begin), [1, 2, 11, 12]),
            (flow(.begin, .signIn(.linkRequired(ticket))), [0, 3, 4, 12, 13]),
            (flow(.begin, .signIn(.linkRequired(ticket)), .create), [7, 11, 12]),
            (flow(.begin, .signIn(.linkRequired(ticket)), .bind), [8, 9, 10, 11, 12]),
            (flow(.begin, .signIn(.linkRequired(ticket)), .bind, conflict), [5, 6, 12, 13]),
            (flow(.begin, .signIn(.linkRequired(ticket)), .bind, conflict, .replace), [8, 9, 10, 11, 12]),
            (flow(.begin, .signIn(.signedIn(account))), [0, 14]), (flow(.begin, .abandon), [0]),
            (flow(.begin, .signIn(.linkRequired(ticket)), .begin), [1, 2, 11, 12]),
            (flow(.begin, .signIn(.linkRequired(ticket)), .begin, .signIn(.signedIn(account))), [0, 4, 12, 13, 14]),
        ]
        for (flow, counting) in steps {
            for (index, event) in all.enumerated() {
                var next = flow
                let isTaken = next.apply(event)
                #expect(isTaken == counting.contains(index), "\(event) in \(flow.step)")
                #expect(isTaken == (next != flow))
            }
        }
    }
}
