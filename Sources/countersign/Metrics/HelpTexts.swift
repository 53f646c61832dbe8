/// The texts of the `# HELP` lines: one sentence for each metric, by its name on the page. `docs/operations/metrics.md`
/// has a row for each, with what to do about it.
enum HelpTexts {
    static let all: [String: String] = [
        "countersign_addresses_under_attack":
            "Addresses under attack: wrong mailed codes within 24 hours, and so many that new codes have ten digits.",
        "countersign_admin_key_refusals_total":
            "Keys of administrators that were refused, unknown or revoked ones.",
        "countersign_apple_client_secret_age_seconds":
            "Age of the oldest client_secret in use, by team.",
        "countersign_apple_key_file_age_seconds":
            "Time since the file of the key in use was last written, by team.",
        "countersign_audit_partition_months":
            "Months after this one for which the audit trail has a partition.",
        "countersign_audit_seal_failures_total":
            "Rounds of sealing the audit trail that failed.",
        "countersign_audit_unsealed_seconds":
            "Age of the oldest row of the audit trail that no seal covers yet.",
        "countersign_build_info":
            "Always 1: the version and the commit of the program that runs.",
        "countersign_clock_difference_seconds":
            "How far this machine's clock is ahead of the database's.",
        "countersign_code_exchange_seconds":
            "Duration of exchanges of authorization codes, with those that timed out, by provider.",
        "countersign_code_exchanges_total":
            "Authorization codes that were posted, by provider and outcome.",
        "countersign_configuration_last_reload_successful":
            "Whether the last reload of the configuration was adopted: 1 or 0.",
        "countersign_configuration_reloads_total":
            "Reloads of the configuration by SIGHUP, by outcome.",
        "countersign_feed_unstamped_seconds":
            "Age of the oldest event that has no place in the feed yet.",
        "countersign_grant_checks_overdue_seconds":
            "Lateness of the latest daily check of a refresh token in the last round, in seconds.",
        "countersign_grant_checks_total":
            "Checks of refresh tokens at the provider, by provider and outcome.",
        "countersign_http_connections":
            "Connections that are open, by listener.",
        "countersign_http_connections_refused_total":
            "Connections that were closed without an answer, by listener and reason.",
        "countersign_http_request_seconds":
            "Time from a whole request to its answer, by route and method.",
        "countersign_http_requests_in_flight":
            "Requests that were admitted and are not answered yet, by listener.",
        "countersign_http_requests_total":
            "Requests answered, by route, method and class of status.",
        "countersign_http_shed_total":
            "Requests that were refused for overload, by listener and reason.",
        "countersign_key_set_age_seconds":
            "Time since the provider's keys were last fetched, or since the start if they never were.",
        "countersign_key_set_fetches_total":
            "Fetches of the provider's keys, by outcome.",
        "countersign_key_set_foreign":
            "Whether a provider's keys come from another address than its own, in a service that the public reaches.",
        "countersign_key_set_keys":
            "Keys of the provider that are trusted.",
        "countersign_oauth_requests_total":
            "Requests of clients of the OAuth server, by endpoint and outcome.",
        "countersign_limit_refusals_total":
            "Requests that were beyond a limit, by limit.",
        "countersign_links_total":
            "Attempts to link an identity to an account, by action, outcome and reason.",
        "countersign_mail_send_seconds":
            "Duration of handing a mail to the mail server, accepted or not.",
        "countersign_mails_total":
            "Mails that were processed, by outcome.",
        "countersign_metrics_refused_total":
            "Attempts to make a metric that were refused: too many series, or a name in use for another kind.",
        "countersign_outbox_failed":
            "Revocations or mails that were given up and are still stored, by kind.",
        "countersign_outbox_oldest_seconds":
            "Age of the oldest pending revocation or mail, by kind, but for mails that wait for their recipient's sake, or that the server may have.",
        "countersign_outbox_pending":
            "Pending revocations or mails, by kind.",
        "countersign_password_hashes":
            "Passwords that are being hashed or wait to be, by state.",
        "countersign_password_hashes_refused_total":
            "Passwords that were not hashed: no place, no thread or no memory.",
        "countersign_postgres_commits_waiting":
            "Commits that have waited for a synchronous standby for so long that writes are refused.",
        "countersign_postgres_connections":
            "Connections to the database, by state.",
        "countersign_postgres_pool_size":
            "Greatest number of connections to the database.",
        "countersign_postgres_refused_total":
            "Statements and transactions that got no connection, by reason.",
        "countersign_postgres_up":
            "Whether there is a connection to the database, or none was tried in vain.",
        "countersign_postgres_wait_seconds":
            "Time that a statement or a transaction waited for a connection.",
        "countersign_postgres_waiting":
            "Statements and transactions that wait for a connection.",
        "countersign_provider_events_oldest_seconds":
            "Age of the oldest event from a provider that is not acted on yet.",
        "countersign_provider_events_total":
            "Events from the providers, by provider, kind, outcome and reason.",
        "countersign_refreshes_total":
            "Refreshes of sessions, by outcome and reason.",
        "countersign_revocation_attempts_total":
            "Attempts to revoke at the provider, by provider and outcome.",
        "countersign_sessions_over_limit_total":
            "Sessions that were ended because their account had more than it may have.",
        "countersign_sign_ins_total":
            "Sign-ins, by provider or other method, outcome and reason.",
        "countersign_signing_key_age_seconds":
            "Time for which the current key has signed access tokens.",
        "countersign_signing_key_usable":
            "Whether the process can open the current key, and so signs access tokens: 1 or 0.",
        "countersign_stray_grants":
            "Authorizations that the database did not take, waiting in memory to be ended.",
        "countersign_token_verify_seconds":
            "Duration of verifying a provider's token, by provider.",
        "countersign_web_steps_total":
            "Steps of sign-ins in a browser, by step and outcome.",
        "countersign_wrong_guesses_total":
            "Wrong passwords and mailed codes, by kind.",
        "process_cpu_seconds_total":
            "CPU time used by the process, in user and in system mode.",
        "process_max_fds":
            "File descriptors that the process may have open.",
        "process_open_fds":
            "File descriptors that the process has open.",
        "process_resident_memory_bytes":
            "Memory of the process that is in RAM.",
        "process_start_time_seconds":
            "When the process started, in seconds since 1970.",
        "countersign_webhook_active":
            "Whether events are pushed to the endpoint: 1, or 0 when it is paused or has stopped.",
        "countersign_webhook_attempts_total":
            "Posts to a receiver, by endpoint and result.",
        "countersign_webhook_behind_seconds":
            "Age of the oldest event that is neither delivered nor given up, by endpoint.",
        "countersign_webhook_given_up_total":
            "Events that were tried for the last time, by endpoint.",
        "countersign_webhook_parked_accounts":
            "Accounts whose events wait behind one that has failed, by endpoint.",
    ]
}
