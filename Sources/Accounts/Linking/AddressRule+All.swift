extension AddressRule {
    private static let anybody = Set(AddressHolder.allCases)
    private static let someone: Set<AddressHolder> = [.claimed, .stated, .proven]

    /// Every rule, in the order of docs/linking.md, which prints them.
    package static let all: [AddressRule] = signingIn + creating + binding + account + others

    private static let signingIn: [AddressRule] = [
        AddressRule(
            .signIn, [.none, .relay], anybody, .choose([.create, .bind], showing: .nothing),
            "An address that is absent, unverified or a relay points at nobody."),
        AddressRule(
            .signIn, [.stated, .authoritative], [.nobody, .claimed], .choose([.create, .bind], showing: .nothing),
            "Who only claimed an address is not found by it: anybody could have typed it."),
        AddressRule(
            .signIn, [.stated], [.stated], .choose([.bind, .create], showing: .providers),
            "Two providers state the same; neither runs the mailbox, so the account has to be proven."),
        AddressRule(
            .signIn, [.authoritative], [.stated], .choose([.bind, .create], showing: .identities),
            "The reader of the mailbox sees who is in the account, and decides whether that is them."),
        AddressRule(
            .signIn, [.stated], [.proven], .choose([.bind], showing: .nothing),
            "The address is the holder's; a provider that does not run the mailbox can't say otherwise."),
        AddressRule(
            .signIn, [.authoritative], [.proven], policy: [.prompt], .choose([.bind], showing: .nothing),
            "Both read the mailbox, so they are one person; the operator has chosen to ask nevertheless."),
        AddressRule(
            .signIn, [.authoritative], [.proven], policy: [.automatic], .bindUnasked,
            "Both read the mailbox, so they are one person."),
        AddressRule(
            .signInKnown, [.none], anybody, .enter,
            "The identity is in the account already, and the token says nothing of the address."),
        AddressRule(
            .signInKnown, [.relay, .stated, .authoritative], anybody, .enterRaising,
            "The identity is in the account already; what its provider knows of the address is news of the address alone."
        ),
        AddressRule(
            .mailedSignIn, [.mailedCode], [.proven], .enter, "The reader of the mailbox is the account's owner."),
        AddressRule(
            .mailedSignIn, [.mailedCode], [.stated], .choose([.bind, .create], showing: .identities),
            "Who made the account may have lost the mailbox since: its reader sees who is in there first."),
        AddressRule(
            .mailedSignIn, [.mailedCode], [.claimed], .enterClearing,
            "Who typed the address need not read the mailbox: nothing that they set up may stay in its owner's account."
        ),
    ]

    private static let creating: [AddressRule] = [
        AddressRule(
            .create, [.none], anybody, .create(withAddress: false), "There is no address that the provider vouches for."
        ),
        AddressRule(
            .create, [.relay], [.nobody], .create(withAddress: true),
            "Apple forwards the address to this person alone."),
        AddressRule(
            .create, [.relay], someone, .create(withAddress: false),
            "A relay never matches and never conflicts."),
        AddressRule(
            .create, [.stated, .authoritative, .mailedCode], [.nobody], .create(withAddress: true),
            "Nobody else has it. A provider's word alone is mailed to the address, whose reader may object."),
        AddressRule(
            .create, [.stated], [.claimed, .stated], .create(withAddress: false),
            "A statement that may be out of date takes an address from nobody."),
        AddressRule(
            .create, [.authoritative, .mailedCode], [.claimed, .stated], .createTaking,
            "The mailbox has a reader, and it is this person."),
        AddressRule(
            .create, [.stated, .authoritative, .mailedCode], [.proven], .refuseEmailTaken,
            "The holder reads the mailbox too: bind."),
    ]

    private static let binding: [AddressRule] = [
        AddressRule(
            .bindBySession, [.none], anybody, .enter, "The session proves the account, whatever its address is worth."),
        AddressRule(
            .bindBySession, [.relay, .stated, .authoritative], anybody, .enterRaising,
            "The session proves the account; the identity is one of it from then on, and may know its address better."),
        AddressRule(
            .bindByPassword, [.none], anybody, .enter, "The password proves the account, whatever its address is worth."
        ),
        AddressRule(
            .bindByPassword, [.relay, .stated, .authoritative], anybody, .enterRaising,
            "The password proves the account; the identity is one of it from then on, and may know its address better."),
        AddressRule(.bindByCode, [.mailedCode], [.proven], .enter, "The reader of the mailbox is the account's owner."),
        AddressRule(
            .bindByCode, [.mailedCode], [.stated], .takeOverOnceShown,
            "The reader of the mailbox sees who is in the account before they are in it together."),
        AddressRule(
            .bindByCode, [.mailedCode], [.claimed], .enterClearing,
            "Who typed the address need not read the mailbox: nothing that they set up may stay in its owner's account."
        ),
        AddressRule(
            .bindToShown, [.authoritative, .mailedCode], [.stated], .takeOverOnceShown,
            "The ticket proves the mailbox, and its person has seen who is in the account."),
        AddressRule(
            .bindToShown, [.mailedCode], [.proven], .enter,
            "Somebody in the account has proven the address since; the reader of the mailbox is the account's owner."),
    ]

    private static let account: [AddressRule] = [
        AddressRule(.register, [.none], [.nobody], .create(withAddress: true), "First come, and no more than a claim."),
        AddressRule(.register, [.none], someone, .refuseEmailTaken, "An address belongs to one account."),
        AddressRule(
            .registerByCode, [.mailedCode], [.nobody], .create(withAddress: true), "The reader of the mailbox is new."),
        AddressRule(
            .registerByCode, [.mailedCode], [.claimed], .enterClearing,
            "Who typed the address need not read the mailbox: the account is its owner's, with what they typed now."),
        AddressRule(
            .registerByCode, [.mailedCode], [.stated, .proven], .refuseEmailTaken,
            "No code is mailed: the mail says that there is an account."),
        AddressRule(.reset, [.mailedCode], [.proven], .enter, "The reader of the mailbox is the account's owner."),
        AddressRule(
            .reset, [.mailedCode], [.stated], .refuseCode,
            "A password would be a way in beside those that its reader has not seen: they sign in by a code, which shows them."
        ),
        AddressRule(
            .reset, [.mailedCode], [.claimed], .enterClearing,
            "Who typed the address need not read the mailbox: nothing that they set up may stay in its owner's account."
        ),
        AddressRule(
            .verifyEmail, [.mailedCode], [.claimed, .stated], .prove,
            "Who reads the mailbox is in the account already, by a way that they know."),
        AddressRule(.changeEmail, [.mailedCode], [.nobody], .prove, "Nobody else has it."),
        AddressRule(
            .changeEmail, [.mailedCode], [.claimed, .stated], .proveTaking,
            "The mailbox has a reader, and it is this person."),
        AddressRule(.changeEmail, [.mailedCode], [.proven], .refuseEmailTaken, "The holder reads the mailbox too."),
        AddressRule(
            .replaceEmail, [.none], [.nobody], .prove,
            "The administrator vouches for it, a day after its mailboxes were notified."),
        AddressRule(
            .replaceEmail, [.none], someone, .refuseEmailTaken, "An administrator takes an address from nobody."),
    ]

    private static let others: [AddressRule] = [
        AddressRule(
            .linkInSession, [.none], anybody, .enter, "The session proves the account, whatever its address is worth."),
        AddressRule(
            .linkInSession, [.relay, .stated, .authoritative], anybody, .enterRaising,
            "The session proves the account; the identity is one of it from then on, and may know its address better."),
        AddressRule(
            .replaceIdentity, [.none], anybody, .enter,
            "A session or a password proves the account, as for any *bind*; every mailbox of it is notified."),
        AddressRule(
            .replaceIdentity, [.relay, .stated, .authoritative], anybody, .enterRaising,
            "The new identity is one of the account from then on, and may know its address better."),
        AddressRule(
            .merge, [.none], anybody, .enter,
            "The identity decides whether it moves; the address of the account that is left goes with that account."),
        AddressRule(
            .merge, [.relay, .stated, .authoritative], anybody, .enterRaising,
            "The identity is one of the other account from then on, and may know its address better."),
        AddressRule(
            .providerEvent, [.none], anybody, .unchanged,
            "An event says what became of an identity, not who reads the mailbox."),
    ]
}
