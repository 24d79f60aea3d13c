"""The tables of a workspace besides its index: traces, search backends, `fathom serve`, rights.

The name `X_GUARDED` holds the names of the tables of `X` that row-level security guards.
"""

_WORKSPACE = "workspace_no int NOT NULL REFERENCES fathom.workspaces ON DELETE CASCADE"
_QUOTED_TEXT = (
    'document text COLLATE "C" NOT NULL, start int NOT NULL, "end" int NOT NULL, mark text NOT NULL'
)

TRACES = (
    f"""CREATE TABLE fathom.traces(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_WORKSPACE},
      id text COLLATE "C" NOT NULL, started_at text NOT NULL, question text NOT NULL,
      strategy text COLLATE "C" NOT NULL, status text NOT NULL, size int NOT NULL,
      signals text NOT NULL, warnings text NOT NULL, data bytea NOT NULL,
      UNIQUE(workspace_no, id))""",
    "ALTER TABLE fathom.traces ALTER data SET STORAGE EXTERNAL",  # already compressed
    "CREATE INDEX ON fathom.traces(workspace_no, no) INCLUDE (size)",
    f"""CREATE TABLE fathom.held(
      {_WORKSPACE}, {_QUOTED_TEXT},
      trace_no bigint NOT NULL REFERENCES fathom.traces ON DELETE CASCADE,
      PRIMARY KEY(workspace_no, document, start, "end", mark, trace_no))""",
    "CREATE INDEX ON fathom.held(trace_no)",
    f"CREATE TABLE fathom.swept({_WORKSPACE}, revision text NOT NULL, PRIMARY KEY(workspace_no))",
    f"""CREATE TABLE fathom.feedback(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_WORKSPACE},
      trace_id text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
      strategy text COLLATE "C" NOT NULL, data text NOT NULL, UNIQUE(workspace_no, trace_id))""",
    "CREATE INDEX ON fathom.feedback(workspace_no, key)",
    f"""CREATE TABLE fathom.feedback_held(
      {_WORKSPACE}, {_QUOTED_TEXT},
      feedback_no bigint NOT NULL REFERENCES fathom.feedback ON DELETE CASCADE,
      PRIMARY KEY(workspace_no, document, start, "end", mark, feedback_no))""",
    "CREATE INDEX ON fathom.feedback_held(feedback_no)",
)
TRACES_GUARDED = ("traces", "held", "swept", "feedback", "feedback_held")

BACKENDS = (
    """CREATE TABLE fathom.legs(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, space_no int NOT NULL, mark int NOT NULL,
      average float8 NOT NULL, next_term bigint NOT NULL DEFAULT 0,
      PRIMARY KEY(index_no, space_no))""",
    """CREATE TABLE fathom.term_numbers(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, term text COLLATE "C" NOT NULL, no bigint NOT NULL,
      PRIMARY KEY(index_no, term))""",
    """CREATE TABLE fathom.chunk_terms(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, chunk_no int NOT NULL, document_no int NOT NULL,
      length int NOT NULL, terms bytea NOT NULL, PRIMARY KEY(index_no, chunk_no))""",
    f"""CREATE TABLE fathom.leftovers(
      no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_WORKSPACE},
      tenant uuid NOT NULL, dimension int, chunks int[], until timestamptz NOT NULL)""",
)
"""The records about another engine that searches the chunks; no rows if PostgreSQL does."""
BACKENDS_GUARDED = ("legs", "term_numbers", "chunk_terms", "leftovers")

_CURRENT_WORKSPACE = (
    f"{_WORKSPACE} DEFAULT NULLIF(current_setting('fathom.workspace', true), '')::int"
)
SERVED = (
    f"""CREATE TABLE fathom.keys(
      {_CURRENT_WORKSPACE}, id text COLLATE "C" NOT NULL, hash text NOT NULL, name text NOT NULL,
      workspace text NOT NULL, scopes text NOT NULL, created text COLLATE "C" NOT NULL,
      expires text, per_minute bigint, tokens_per_day bigint, usd_per_day float8,
      PRIMARY KEY(workspace_no, id))""",
    f"""CREATE TABLE fathom.accounts(
      {_CURRENT_WORKSPACE}, owner text COLLATE "C" NOT NULL, day text COLLATE "C" NOT NULL,
      tokens bigint NOT NULL DEFAULT 0, nano bigint NOT NULL DEFAULT 0,
      reserved_tokens bigint NOT NULL DEFAULT 0, reserved_nano bigint NOT NULL DEFAULT 0,
      PRIMARY KEY(workspace_no, owner, day))""",
    f"""CREATE TABLE fathom.conversations(
      {_CURRENT_WORKSPACE},
      id text COLLATE "C" NOT NULL, title text NOT NULL, created text NOT NULL,
      updated text COLLATE "C" NOT NULL, PRIMARY KEY(workspace_no, id))""",
    f"""CREATE TABLE fathom.turns(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_CURRENT_WORKSPACE},
      conversation text COLLATE "C" NOT NULL, question text NOT NULL, trace_id text,
      asked text NOT NULL)""",
    "CREATE INDEX ON fathom.turns(workspace_no, conversation)",
    f"""CREATE TABLE fathom.jobs(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_CURRENT_WORKSPACE},
      id text COLLATE "C" NOT NULL, state text NOT NULL, server text NOT NULL DEFAULT '',
      lease float8 NOT NULL DEFAULT 0, data text NOT NULL, UNIQUE(workspace_no, id))""",
    "CREATE INDEX ON fathom.jobs(workspace_no, no) WHERE state IN ('waiting', 'running')",
    f"""CREATE TABLE fathom.replies(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_CURRENT_WORKSPACE},
      key text COLLATE "C" NOT NULL, body text NOT NULL, server text NOT NULL,
      lease float8 NOT NULL, status int NOT NULL DEFAULT 0, media text NOT NULL DEFAULT '',
      reply text NOT NULL DEFAULT '', UNIQUE(workspace_no, key))""",
    f"""CREATE TABLE fathom.uploads(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_CURRENT_WORKSPACE},
      name text COLLATE "C" NOT NULL, path text COLLATE "C" NOT NULL, size bigint NOT NULL,
      UNIQUE(workspace_no, name))""",
    "CREATE INDEX ON fathom.uploads(workspace_no, path)",
    f"""CREATE TABLE fathom.pieces(
      {_CURRENT_WORKSPACE}, upload_no bigint NOT NULL REFERENCES fathom.uploads ON DELETE CASCADE,
      piece int NOT NULL, bytes bytea NOT NULL, PRIMARY KEY(upload_no, piece))""",
)
RATES = (
    f"""CREATE TABLE fathom.rates(
      {_CURRENT_WORKSPACE}, key text COLLATE "C" NOT NULL, until float8 NOT NULL DEFAULT 0,
      PRIMARY KEY(workspace_no, key))""",
)
RATES_GUARDED = ("rates",)
GONE = (
    f"""CREATE TABLE fathom.gone(
      {_CURRENT_WORKSPACE}, id text COLLATE "C" NOT NULL, PRIMARY KEY(workspace_no, id))""",
)
"""The ids of removed keys, conversations and objects."""
GONE_GUARDED = ("gone",)
DOORS = (
    f"""CREATE TABLE fathom.doors(
      {_CURRENT_WORKSPACE}, id text COLLATE "C" NOT NULL, is_open int NOT NULL,
      PRIMARY KEY(workspace_no, id))""",
)
DOORS_GUARDED = ("doors",)
OWNERS = (
    f"""CREATE TABLE fathom.owners(
      {_CURRENT_WORKSPACE}, id text COLLATE "C" NOT NULL, owner text NOT NULL,
      PRIMARY KEY(workspace_no, id))""",
)
"""The id of the key that began each conversation."""
OWNERS_GUARDED = ("owners",)
OBJECTS = (
    f"""CREATE TABLE fathom.objects(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_CURRENT_WORKSPACE},
      kind text COLLATE "C" NOT NULL, parent text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL, data text NOT NULL, UNIQUE(workspace_no, kind, parent, id))""",
)
OBJECTS_GUARDED = ("objects",)
AUDIT = (
    f"""CREATE TABLE fathom.audit(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_CURRENT_WORKSPACE},
      requested text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL, groups text NOT NULL, workspace text NOT NULL,
      route text NOT NULL, asked text NOT NULL, status int NOT NULL, shown text NOT NULL)""",
    "CREATE INDEX ON fathom.audit(workspace_no, requested)",
    f"""CREATE TABLE fathom.audit_shown(
      no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_CURRENT_WORKSPACE},
      line bigint NOT NULL, shown text NOT NULL)""",
    "CREATE INDEX ON fathom.audit_shown(workspace_no, line)",
)
AUDIT_GUARDED = ("audit", "audit_shown")
TRACE_OWNERS = (
    f"""CREATE TABLE fathom.trace_owners(
      {_WORKSPACE}, trace_no bigint PRIMARY KEY REFERENCES fathom.traces ON DELETE CASCADE,
      owner text COLLATE "C" NOT NULL)""",
    "CREATE INDEX ON fathom.trace_owners(workspace_no, owner)",
    f"""CREATE TABLE fathom.trace_documents(
      {_WORKSPACE}, trace_no bigint NOT NULL REFERENCES fathom.traces ON DELETE CASCADE,
      document text COLLATE "C" NOT NULL, PRIMARY KEY(trace_no, document))""",
    f"""CREATE TABLE fathom.holders(
      {_CURRENT_WORKSPACE}, id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
      PRIMARY KEY(workspace_no, id))""",
)
"""The owners of traces, the documents in these traces, and the owners of conversations."""
TRACE_OWNERS_GUARDED = ("trace_owners", "trace_documents", "holders")
_VIEWER = "NULLIF(current_setting('fathom.viewer', true), '')"
"""The names of a transaction's viewer as the text of an array; NULL if everything is visible."""


def _build_hiding(table: str, condition: str) -> str:
    """Return the policy that shows a viewer only the rows of a table that pass a condition."""
    return (
        f"CREATE POLICY viewer ON fathom.{table} AS RESTRICTIVE FOR SELECT "
        f"USING ({_VIEWER} IS NULL OR {condition})"
    )


def _admit_viewer(row: str) -> str:
    """Return the condition that every clause of a row names the viewer.

    Args:
        row: The rest of a condition that begins with `one.index_no = ` and selects the clauses
            (`one`) of the row.
    """
    return (
        f"NOT EXISTS(SELECT 1 FROM fathom.readers AS one WHERE one.index_no = {row} "  # noqa: S608 - constants
        "AND NOT EXISTS(SELECT 1 FROM fathom.readers AS other "
        "WHERE other.index_no = one.index_no AND other.key = one.key "
        f"AND other.clause = one.clause AND other.reader = ANY(({_VIEWER})::text[])))"
    )


RIGHTS = (
    """CREATE TABLE fathom.rights(
      index_no int PRIMARY KEY REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, data text NOT NULL)""",
    """CREATE TABLE fathom.readers(
      index_no int NOT NULL REFERENCES fathom.indexes ON DELETE CASCADE,
      workspace_no int NOT NULL, key text COLLATE "C" NOT NULL, clause int NOT NULL,
      reader text COLLATE "C" NOT NULL, document_id text COLLATE "C",
      PRIMARY KEY(index_no, key, clause, reader))""",
    "CREATE INDEX ON fathom.readers(index_no, document_id)",
)
"""The rules of an index, and the readers of its places and documents by them.

The key of a place is its path. A document's own readers have its id as the key, and clause -1.
"""
RIGHTS_POLICIES = (
    _build_hiding(
        "documents", _admit_viewer("documents.index_no AND one.document_id = documents.id")
    ),
    _build_hiding(
        "sources",
        _admit_viewer(
            "sources.index_no AND (one.document_id = sources.document_id "
            "OR (one.key = sources.path AND one.clause >= 0))"
        ),
    ),
    # The policy of documents counts inside that of chunks.
    _build_hiding(
        "chunks",
        "EXISTS(SELECT 1 FROM fathom.documents WHERE documents.index_no = chunks.index_no "
        "AND documents.no = chunks.document_no)",
    ),
)
RIGHTS_GUARDED = ("rights", "readers")
SERVED_GUARDED = (
    "keys",
    "accounts",
    "conversations",
    "turns",
    "jobs",
    "replies",
    "uploads",
    "pieces",
)
