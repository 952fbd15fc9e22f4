"""Arguments and options of the command line, with their help texts; `local_options` and `anonymity_options` have more.

An option that several commands take is defined once. The modules of commands put them into signatures.
"""

from __future__ import annotations

from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text; errors too, on stderr.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace output files that exist; an input file is never replaced.")
]
ChartOption = Annotated[str | None, typer.Option(help="Save a chart to this file: .svg, .png, .pdf, .html or .json.")]

# init, plan, query, ledger
SourceArgument = Annotated[
    str, typer.Argument(help="Parquet or CSV files, a DuckDB file, a PostgreSQL URL, spark:table or sc://host.")
]
SourceTableOption = Annotated[
    str | None, typer.Option("--table", help="The table's name in a DuckDB file, in PostgreSQL or in Spark.")
]
PolicyArgument = Annotated[str, typer.Argument(help="The policy file; `tacit init` writes a template.")]
SqlArgument = Annotated[
    str | None, typer.Argument(help="The query, in SQL. Without it, or with -, it is read from standard input.")
]
SqlFileOption = Annotated[str | None, typer.Option("--file", "-f", help="A file with the query.")]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        help="The value of a parameter such as $town in the query: town=Bern, or town:text=Bern with its type. "
        "May be repeated."
    ),
]
AnswerOutOption = Annotated[
    str | None,
    typer.Option("--out", help="A file for the answer with its intervals: .csv, .parquet, .json or .md."),
]
EpsilonOption = Annotated[float | None, typer.Option(help="ε of the whole query.")]
DeltaOption = Annotated[
    float, typer.Option(help="δ of the whole query; if it is above 0, Gaussian noise is used where its error is less.")
]
RhoOption = Annotated[float | None, typer.Option(help="ρ instead of ε, for a budget in zCDP.")]
ErrorOption = Annotated[
    float | None, typer.Option(help="The largest acceptable error instead of ε; the query gets the smallest ε for it.")
]
ConfidenceOption = Annotated[float, typer.Option(help="The probability with which errors and intervals hold.")]
AssumeOption = Annotated[int | None, typer.Option(help="The assumed number of units per group, for averages.")]
ReachOption = Annotated[
    str | None,
    typer.Option(
        help="The most rows of one unit that the answer counts, or auto, which chooses it privately; "
        "by default the policy's."
    ),
]
LimitsSqlArgument = Annotated[
    str | None, typer.Argument(help="The query whose limits are to be chosen; by default the count of a table's rows.")
]
SpendOption = Annotated[
    float | None,
    typer.Option(help="The ε or ρ that the query itself will cost; by default nine times that of this report."),
]
LimitsTableOption = Annotated[str | None, typer.Option(help="One of several tables, if no query is given.")]
MaxGroupsOption = Annotated[
    int | None, typer.Option(help="The largest number of groups in which a unit counts; by default the policy's.")
]
MaxRowsOption = Annotated[
    int | None,
    typer.Option(help="The most rows of one unit that one group counts; by default the policy's."),
]
MeasureCutOption = Annotated[
    int | None,
    typer.Option(help="Measure what the reach cuts of counts and sums, up to this number of rows a unit."),
]
ShareOption = Annotated[
    float | None, typer.Option(help="The part of the cost for auto, and for measuring the cut; by default 0.1.")
]
NoIntervalsOption = Annotated[
    bool, typer.Option("--no-intervals", help="Draw single quantiles without intervals, with a smaller error.")
]
BoundsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Bounds of a column in place of the policy's, such as cost=0:500; values beyond are clipped. "
        "May be repeated."
    ),
]
ColumnArgument = Annotated[str, typer.Argument(help="A column of numbers, dates or timestamps, or an SQL expression.")]
WhereOption = Annotated[str | None, typer.Option(help="A condition in SQL: only rows that meet it count.")]
PrivateTableOption = Annotated[
    str | None, typer.Option("--table", help="The table's name in SQL, if the policy has several.")
]
HistogramColumnArgument = Annotated[str, typer.Argument(help="A column of numbers, or an SQL expression.")]
CrosstabColumnsArgument = Annotated[list[str], typer.Argument(help="The columns whose combinations are counted.")]
BinsOption = Annotated[
    str,
    typer.Option(
        help="The edges of the bins, such as 0,18,30,65; or the number of bins of equal width between the bounds."
    ),
]
MarginalOption = Annotated[
    list[str] | None,
    typer.Option(help="A set of columns to count together, such as age,sex; may be repeated."),
]
WaysOption = Annotated[int | None, typer.Option(help="Instead of --marginal: all sets of at most this many columns.")]
WaysColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="With --ways: the columns, such as age,sex; may be repeated. By default all with public values or bins.",
    ),
]
ColumnBinsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        help="The edges of the bins of a column, such as age=0,18,65,120, or their number, such as age=10; "
        "may be repeated.",
    ),
]
WholeReachOption = Annotated[
    int | None, typer.Option("--reach", help="The most rows of one unit that count; by default the policy's.")
]
RowCountOption = Annotated[
    int | None,
    typer.Option(
        "--n", help="The number of rows; by default the noisy estimate, or the number itself if it is public."
    ),
]
RowColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="The columns, such as age,sex; may be repeated. By default all with public values or bins.",
    ),
]
RowTargetOption = Annotated[str | None, typer.Option("--target", help="The column that the rows are to predict.")]
ModeOption = Annotated[
    str, typer.Option(help="fast, or quality, which chooses what to count step by step and takes longer.")
]
GivenOption = Annotated[
    list[str] | None,
    typer.Option(help="A value that all rows are to have, such as sex=F; sex= means missing. May be repeated."),
]
ConstraintOption = Annotated[
    list[str] | None,
    typer.Option(help="A condition in SQL that all rows must satisfy, such as age >= 18; may be repeated."),
]
DistancesOption = Annotated[
    bool, typer.Option("--report", help="Spend a part of the cost on measuring how far the rows are from the data.")
]
DistanceShareOption = Annotated[float, typer.Option("--share", help="With --report: that part of the cost.")]
RowSecondsOption = Annotated[
    float | None, typer.Option("--seconds", help="With --mode quality: the time after which the search ends.")
]
RowsOutOption = Annotated[
    str | None,
    typer.Option("--out", help="A file for the rows: .csv, .parquet or .json; without it, CSV goes to stdout."),
]
TargetArgument = Annotated[str, typer.Argument(help="The column to predict; its public values are the classes.")]
FeatureColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="The columns to predict from, such as age,sex; may be repeated. By default all with public values or "
        "bins.",
    ),
]
PositiveOption = Annotated[
    str | None, typer.Option(help="The value whose log-odds the scores are; by default the second public value.")
]
ClassifierMethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="logistic regression or naive Bayes; by default the noisy number of rows decides between them.",
    ),
]
AccuracyOption = Annotated[
    float | None, typer.Option(help="The share of the cost for an estimate of the accuracy, such as 0.05.")
]
SaveOption = Annotated[
    str | None, typer.Option(help="A file for the model: JSON, which tc.learn.Classifier.load reads.")
]
ByOption = Annotated[list[str] | None, typer.Option(help="A column to group by as well; may be repeated.")]
PlanOnlyOption = Annotated[bool, typer.Option("--plan", help="Print the cost and the expected error; spend nothing.")]
BasketOption = Annotated[
    str | None,
    typer.Option(help="The column that names the baskets of a unit; without it, all rows of a unit are one basket."),
]
ItemOption = Annotated[str | None, typer.Option(help="The column with one item a row.")]
BasketColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="Instead of --item: each row is a basket, and its items are the values of these columns, such as "
        "age,sex; may be repeated.",
    ),
]
BasketBinsOption = Annotated[
    list[str] | None,
    typer.Option("--bins", help="The bins of a column of numbers: age=0,18,65,120 or age=10; may be repeated."),
]
ItemsetNumberOption = Annotated[int | None, typer.Option("--k", help="The number of itemsets.")]
MinSupportOption = Annotated[
    float | None, typer.Option(help="Instead of --k: the part of the baskets that a set must reach.")
]
MostItemsOption = Annotated[
    int | None, typer.Option(help="The items of a basket that count; by default max_rows of the policy, or 64.")
]
ItemKeyOption = Annotated[
    list[str] | None,
    typer.Option("--key", help="A public item of text; may be repeated. Without keys, items are found with δ."),
]
RulesOption = Annotated[bool, typer.Option("--rules", help="Print association rules as well, at no further cost.")]
MinConfidenceOption = Annotated[
    float | None, typer.Option(help="With --rules: the least estimated confidence; 0.5 is the default.")
]
MinLiftOption = Annotated[float | None, typer.Option(help="With --rules: the least estimated lift.")]
BasketReachOption = Annotated[
    int | None, typer.Option("--reach", help="The most baskets of one unit that count; by default the policy's.")
]
AnalystOption = Annotated[
    str, typer.Option(envvar="TACIT_ANALYST", help="The analyst's name, for the ledger and for the analyst's limit.")
]
LedgerOption = Annotated[
    str | None,
    typer.Option("--ledger", envvar="TACIT_LEDGER", help="A file or a URL instead of the policy's ledger."),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(help="The longest time in seconds that the engine may read; or TACIT_TIMEOUT, or the policy's."),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(help="The memory that the engine may use, such as 8GB; or TACIT_MEMORY, or the policy's."),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(help="The number of threads that the engine may use; or TACIT_THREADS, or the policy's."),
]
TemporaryOption = Annotated[
    str | None,
    typer.Option(help="A directory for data that does not fit memory; or TACIT_TEMPORARY, or the policy's."),
]
RequestOption = Annotated[
    str | None, typer.Option(help="A name for this query; repeating the query under this name is free.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Spend without a prompt.")]
ImportArgument = Annotated[str | None, typer.Argument(help="The file to read; - for standard input.")]
ReceiptOption = Annotated[
    list[str] | None,
    typer.Option(help="A file with a receipt that the ledger must contain; may be repeated."),
]
DisjointOption = Annotated[
    bool, typer.Option("--disjoint-units", help="No unit was in any earlier version of the data.")
]
OldLedgerArgument = Annotated[
    str, typer.Argument(metavar="OLD", help="The ledger: a file or a postgresql:// URL; ${NAME} is a variable.")
]
NewLedgerArgument = Annotated[str, typer.Argument(metavar="NEW", help="An empty place: a file or a postgresql:// URL.")]
LostOption = Annotated[
    bool, typer.Option("--lost", help="The place of an earlier, unfinished move is lost for ever; seal again.")
]
PlanDeltaOption = Annotated[
    float | None, typer.Option("--delta", help="Also print the cost of all queries as one plan at this δ.")
]

# release, compose
TrueValuesArgument = Annotated[
    list[str],
    typer.Argument(help="The true numbers, which stay in the history of your shell; - reads them from standard input."),
]
SensitivityOption = Annotated[
    str | None,
    typer.Option(
        help="Required: how far one unit moves the numbers together: in L1 for laplace, in L2 for gaussian. "
        "A whole number such as 1 is for counts, one with a point such as 2.5 for reals."
    ),
]
MechanismOption = Annotated[str, typer.Option(help="laplace or gaussian.")]
ReleaseEpsilonOption = Annotated[str | None, typer.Option("--epsilon", help="ε of the release.")]
ReleaseDeltaOption = Annotated[str | None, typer.Option("--delta", help="With gaussian: δ of the release.")]
ReleaseRhoOption = Annotated[str | None, typer.Option("--rho", help="With gaussian: ρ instead of ε and δ.")]
ScaleOption = Annotated[str | None, typer.Option(help="With laplace: the scale of the noise instead of ε.")]
SigmaOption = Annotated[str | None, typer.Option(help="With gaussian: the σ of the noise instead of ε.")]
PartsArgument = Annotated[
    list[str],
    typer.Argument(
        help="Releases: laplace:epsilon=0.1, gaussian:sigma=2,sensitivity=1, epsilon=0.5,delta=1e-6, rho=0.1, …; "
        "x100 after one of them repeats it 100 times."
    ),
]
TotalDeltaOption = Annotated[str | None, typer.Option("--delta", help="δ of the total; print the ε at this δ.")]
TotalEpsilonOption = Annotated[str | None, typer.Option("--epsilon", help="Instead of --delta: print the δ at this ε.")]
RuleOption = Annotated[
    str, typer.Option(help="tight (the default), pld, basic, advanced, optimal, zcdp, renyi or gdp.")
]

# serve, user
PoliciesArgument = Annotated[list[str] | None, typer.Argument(help="The policy files to serve.")]
DemoOption = Annotated[
    bool, typer.Option("--demo", help="Serve a made-up survey, with people whose passwords are printed.")
]
HostOption = Annotated[str | None, typer.Option(help="The address to listen on; by default 127.0.0.1.")]
PortOption = Annotated[int | None, typer.Option(help="The port to listen on; by default 8000.")]
WorkersOption = Annotated[int | None, typer.Option(help="The number of processes; by default 1.")]
TlsCertOption = Annotated[str | None, typer.Option(help="The certificate for HTTPS, a PEM file.")]
TlsKeyOption = Annotated[str | None, typer.Option(help="The key of the certificate, a PEM file.")]
TrustHeaderOption = Annotated[
    str | None, typer.Option(help="The header in which a proxy on this machine names the person who signed in.")
]
PlainHttpOption = Annotated[
    bool | None,
    typer.Option("--plain-http", help="Take passwords and tokens over plain HTTP from other machines too."),
]
QuantumOption = Annotated[
    float | None, typer.Option(help="Answers leave at multiples of so many seconds; by default 0.25.")
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        envvar="TACIT_SERVE_STORE", help="The file or URL of people and sessions; by default the policy's ledger."
    ),
]
PersonArgument = Annotated[str, typer.Argument(help="The person's name, which is the analyst's in the ledger.")]
RoleOption = Annotated[str, typer.Option(help="analyst, steward or admin.")]
NoPasswordOption = Annotated[
    bool, typer.Option("--no-password", help="The person signs in through a proxy, or uses tokens.")
]
LabelOption = Annotated[str, typer.Option(help="The purpose of the token.")]
DaysOption = Annotated[int, typer.Option(help="For how many days the token is valid, at most 366.")]
