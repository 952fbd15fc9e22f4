"""The server: pages and an API over open databases, which `tacit serve` runs.

* `settings`      every setting, from arguments and the environment
* `app`           `create_app`: the routes, and what is opened and closed with them
* `access`        roles; every route declares its role, and an undeclared one stops the start
* `credentials`, `people`, `passwords`, `attempts`  who is who: sessions, tokens, passwords, rate limits
* `security`      cookies, transport, headers, sizes of bodies
* `problems`      errors as application/problem+json
* `datasets`      the open databases
* `services/`     what pages and API share, as plain functions
* `questions`, `jobs`  questions in the database: idempotent requests, long work, cancelling
* `quantum`       answers leave at fixed times
* `audit`, `metrics`, `log`  who asked what and when; numbers for a monitoring server; the log
* `api/`          the routes of /api/v1, one file for each noun

Sessions, tokens, rate limits, questions and the audit log are in the database of the ledger, so that several workers
and machines agree.
"""
