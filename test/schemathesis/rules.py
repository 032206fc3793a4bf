"""Rules of the API that JSON Schema has no words for, or only words that code generators stumble over.

So an input that fits its schema can be refused. By default, Schemathesis takes no 400 for such an input; here it takes one
whose every issue is one of these rules. It also takes the other codes that the operation documents, such as
`price_above_budget`: they are about records, which no schema knows.
"""

import re

import schemathesis

ISSUES = re.compile(
    "|".join(
        [
            # Cursors are text to send back, in the document and in generated code.
            r"must be an ISO 8601 timestamp",
            r"must be the `nextCursor` of an earlier answer",
            # Patterns for them would be in the messages of generated code, for every text.
            r"contains a NUL character or an unpaired surrogate",
            r"must be one line without control characters",
            r"must not be empty",
            r"must be the name of a file, without a path",
            r"must be a MIME type",
            # Validators divide decimals inexactly: `multipleOf: 0.01` refuses 0.07 in some languages.
            r"must have at most two decimals",
            # Up to 2^53, beyond which JavaScript's integers are not exact.
            r"`bytes` must be an integer",
            # A bound of the whole body.
            r"The input has more than 1,000 values",
            # One field depends on another.
            r"Send a text, files, or both",
            r"Name at least one (type|field)",
            r"Mails about your account cannot be off",
            # What was said, found or made before.
            r"The key must start with",
            r"Nothing has been uploaded under this key yet",
            r"It must be later than now and than the present due time",
            r"Must be in the future",
            r"a settlement pays the bidder at most that",
            r"one of those that are guessed first",
            r"must be the `nextPart` of an earlier part",
            # A point of a curve, a name of a list, a direction of writing.
            r"must be an uncompressed P-256 public key",
            r"must be the IANA name of a time zone",
            r"must not contain direction overrides",
            r"Of (ledger|statement|receipt|account): ",
            r"A receipt needs exactly one of ",
            r"(A statement needs|Only a (statement|receipt) has) it",
            r"`(settle|extend|cancel)` (takes no|needs)",
            # Checks of a delivery.
            r"Must be one of your API keys with the scope check:write",
            r"Cannot be used: ",
            r"Needs at least one check that is required",
            r"(min\w+ must be at most max\w+|needs a bound)",
            r"must (refer only to its own parts|have different names)",
            r"The task has no external check of this name",
            # A top-up for a task.
            r"Send exactly one of amountCents and forTask",
            r"Your wallet lacks \d+ cents for it",
        ]
    )
)


BODIES = {
    ("/tasks/{id}/bids", "tasks_award"): {"bidId": "$response.body#/bid/id"},
    ("/bids/{id}/sample/init", "bids_sampleFinalize"): {"storageKey": "$response.body#/storageKey"},
    ("/bids/{id}/delivery/init", "bids_deliveryFinalize"): {"storageKey": "$response.body#/storageKey"},
}
"""What links say in words, because generators for Java refuse those that have a body."""


@schemathesis.hook
def before_load_schema(context, raw_schema):
    for (path, name), body in BODIES.items():
        responses = raw_schema["paths"][path]["post"]["responses"].values()
        link = next(answer["links"][name] for answer in responses if name in answer.get("links", {}))
        link["requestBody"] = body


@schemathesis.hook
def before_call(context, case, kwargs):
    """A dry run makes nothing that a link could lead to."""
    if case.meta is not None and case.meta.phase.name == "stateful":
        case.headers.pop("Dry-Run", None)


@schemathesis.check
def refusal_of_valid_data_has_a_reason(ctx, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code != 400:
        return
    answer = response.json()
    if answer["error"] != "invalid_input":
        return
    unknown = [issue for issue in answer.get("issues", []) if not ISSUES.search(issue["message"])]
    if unknown or not answer["issues"]:
        raise AssertionError(f"The document allows this input, and the service does not: {answer}")
